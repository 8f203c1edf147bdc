"""Masks and parameters of modules: changing, saving, copying, converting."""

import copy
import io
import pickle
import subprocess
import sys
import threading

import pytest
import torch
from oracle import assert_matches_dense
from torch import nn
from torch.nn.utils import prune

from sparsejit import SparseConv2d, SparseLinear

LAYERS = [
    lambda: SparseLinear(12, 10, sparsity=0.7),
    lambda: SparseConv2d(4, 6, 3, 2, 1, sparsity=0.7, relu=True),
]
INPUTS = {SparseLinear: (9, 12), SparseConv2d: (3, 4, 8, 8)}


def input_for(layer):
    return torch.randn(INPUTS[type(layer)])


def other_mask(layer):
    return torch.rand(layer.weight_shape) < 0.4


@pytest.mark.parametrize("make", LAYERS)
def test_set_mask_keeps_survivors_and_the_parameter(make):
    layer = make()
    layer(input_for(layer))
    parameter, before, mask = layer.values, layer.dense(), other_mask(layer)
    survivors = mask & layer.mask
    change = layer.set_mask(mask, fresh=0.5)
    assert layer.values is parameter and torch.equal(layer.mask, mask)
    assert torch.equal(layer.dense(), torch.where(survivors, before, mask * 0.5))
    assert (change.kept, change.added) == (survivors.sum(), (mask & ~survivors).sum())
    assert len(change.old_index) == layer.nnz == mask.sum()


def test_set_mask_computes_with_the_new_mask():
    layer = SparseLinear(12, 10, sparsity=0.7)
    assert_matches_dense(layer, torch.randn(9, 12))
    layer.set_mask(other_mask(layer), fresh=0.5)
    assert_matches_dense(layer, torch.randn(9, 12))


def test_an_unchanged_mask_compiles_nothing():
    layer = SparseLinear(100, 100, sparsity=0.7)
    layer(torch.randn(64, 100))
    data = layer.values.data_ptr()
    change = layer.set_mask(layer.mask)
    assert not change.changed and change.kernels_generated == 0
    assert layer.values.data_ptr() == data


def test_a_graph_of_the_step_before_does_not_matter():
    layer = SparseLinear(12, 10, sparsity=0.7)
    loss = layer(torch.randn(9, 12)).sum()
    loss.backward()
    layer.set_mask(other_mask(layer))
    assert layer.values.grad.shape == layer.values.shape
    again = layer(torch.randn(9, 12)).sum()
    again.backward()
    assert loss is not again and layer.values.grad.shape == (layer.nnz,)


def test_a_mask_between_forward_and_backward_is_refused():
    layer = SparseLinear(12, 10, sparsity=0.7)
    y = layer(torch.randn(9, 12))
    layer.set_mask(other_mask(layer))
    with pytest.raises(RuntimeError, match="has changed since forward"):
        y.sum().backward()


def test_stored_zeros_stay_stored_and_train():
    layer = SparseLinear(3, 1, bias=False, mask=torch.tensor([[1, 1, 0]]))
    nn.init.zeros_(layer.values)
    optimizer = torch.optim.SGD(layer.parameters(), lr=1.0)
    layer(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    assert torch.equal(layer.dense(), torch.tensor([[-1.0, -1, 0]]))


def test_from_dense_stores_the_nonzeros():
    dense = nn.Linear(3, 1)
    dense.weight.data = torch.tensor([[-0.5, 0.2, 0.0]])
    layer = SparseLinear.from_dense(dense)
    assert torch.equal(layer.mask, torch.tensor([[True, True, False]]))


def test_from_dense_reads_masks_of_torch_prune():
    dense = nn.Conv2d(4, 6, 3)
    prune.random_unstructured(dense, "weight", amount=0.5)
    with torch.no_grad():
        dense.weight_orig.view(-1)[dense.weight_mask.view(-1).nonzero()[0]] = 0
    dense(torch.zeros(1, 4, 3, 3))
    layer = SparseConv2d.from_dense(dense)
    assert torch.equal(layer.mask, dense.weight_mask.bool())
    assert torch.equal(layer.dense(), dense.weight)
    assert layer.values.requires_grad


@pytest.mark.parametrize(
    "dense", [nn.Linear(5, 4, bias=False), nn.Conv2d(4, 6, (3, 1), 2, 1, groups=2)]
)
def test_to_dense_goes_back(dense):
    dense.bias is None or dense.bias.requires_grad_(False)
    sparse = (SparseLinear if isinstance(dense, nn.Linear) else SparseConv2d).from_dense(
        dense.eval()
    )
    back = sparse.to_dense()
    assert repr(back) == repr(dense) and not back.training
    for (name, got), want in zip(back.named_parameters(), dense.parameters()):
        assert torch.equal(got, want) and got.requires_grad == want.requires_grad, name


def test_from_dense_refuses_other_types():
    with pytest.raises(TypeError, match="float64"):
        SparseLinear.from_dense(nn.Linear(3, 2).double())
    with pytest.raises(TypeError, match="Conv2d, expected nn.Linear"):
        SparseLinear.from_dense(nn.Conv2d(3, 2, 1))


def state_dict(layer):
    other = type(layer)(**other_arguments(layer), sparsity=0.2)
    other(input_for(layer))
    file = io.BytesIO()
    torch.save(layer.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file, weights_only=True))
    return other


def other_arguments(layer):
    if isinstance(layer, SparseLinear):
        return {"in_features": 12, "out_features": 10}
    return {**layer._settings(), "relu": True}


def torch_save(layer):
    file = io.BytesIO()
    torch.save(layer, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


@pytest.mark.parametrize("make", LAYERS)
@pytest.mark.parametrize(
    "carry",
    [copy.deepcopy, lambda layer: pickle.loads(pickle.dumps(layer)), torch_save, state_dict],
)
def test_copies_have_the_mask_and_give_the_same_bits(make, carry):
    layer = make()
    x = input_for(layer)
    y = layer(x)
    other = carry(layer)
    assert other.mask_hash == layer.mask_hash
    assert torch.equal(other(x), y)
    other.set_mask(other_mask(other))
    assert torch.equal(layer(x), y)


def test_another_process_gives_the_same_bits(tmp_path):
    layer = SparseLinear(12, 10, sparsity=0.7)
    x = torch.randn(9, 12)
    torch.save((layer, x), tmp_path / "layer.pt")
    program = """if True:
        import sys, torch
        layer, x = torch.load(sys.argv[1], weights_only=False)
        torch.save((layer(x).detach(), layer.mask_hash), sys.argv[1])
    """
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "layer.pt")], check=True)
    y, mask_hash = torch.load(tmp_path / "layer.pt")
    assert torch.equal(y, layer(x)) and mask_hash == layer.mask_hash


@pytest.mark.parametrize(
    "change, message",
    [
        (
            lambda s: s.update(mask_bits=s["mask_bits"][:-1]),
            "14 packed bytes, expected 15 for 10x12",
        ),
        (lambda s: s.update(mask_bits=s["mask_bits"].float()), "float32"),
        (lambda s: s.update(values=s["values"][:-1]), "stores 36 weights, but there are 35 values"),
    ],
)
def test_malformed_states_are_refused_and_change_nothing(change, message):
    layer = SparseLinear(12, 10, sparsity=0.7)
    x = torch.randn(9, 12)
    y = layer(x)
    state = SparseLinear(12, 10, sparsity=0.7).state_dict()
    change(state)
    with pytest.raises(RuntimeError, match=message):
        layer.load_state_dict(state)
    assert torch.equal(layer(x), y)


def test_workers_that_fork_can_run_layers_and_compile():
    layer = SparseLinear(12, 10, sparsity=0.7)
    x = torch.randn(16, 12)
    expected = layer(x).detach()

    class Rows(torch.utils.data.Dataset):
        def __len__(self):
            return 4

        @torch.no_grad()
        def __getitem__(self, index):
            again = SparseLinear.from_dense(layer.to_dense(), layer.mask)
            return layer(x), again(x)

    loader = torch.utils.data.DataLoader(
        Rows(), batch_size=None, num_workers=2, multiprocessing_context="fork"
    )
    results = list(loader)
    assert len(results) == 4
    for inherited, compiled in results:
        assert torch.equal(inherited, expected) and torch.equal(compiled, expected)
    assert torch.equal(layer(x), expected)


def test_masks_that_change_beside_running_threads_never_crash():
    layer = SparseLinear(300, 300, sparsity=0.9)
    x = torch.randn(32, 300)
    refused = []
    done = threading.Event()

    def run():
        while not done.is_set():
            try:
                layer(x)
            except (ValueError, TypeError) as error:
                refused.append(error)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(40):
        layer.set_mask(torch.rand(300, 300) < 0.1)
    done.set()
    for thread in threads:
        thread.join()
    assert all("values" in str(error) for error in refused)
    assert_matches_dense(layer, x)


def test_explain_names_engine_and_pass():
    layer = SparseLinear(64, 64, sparsity=0.7)
    layer(torch.randn(32, 64))
    assert "forward" in layer.explain()
    assert layer.report()[0]["pass"] == "forward" and layer.report()[0]["batch"] == 32


def test_repr_shows_what_is_stored():
    text = repr(SparseLinear(10, 10, sparsity=0.75, relu=True))
    assert "nnz=25, sparsity=0.7500" in text and "relu=True" in text
