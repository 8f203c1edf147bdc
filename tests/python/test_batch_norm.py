"""BatchNorm2d against nn.BatchNorm2d, and what it leaves to that."""

import copy

import pytest
import torch
from torch import nn

import sparsejit
from sparsejit import BatchNorm2d, SparseConv2d


def pair(channels, relu, **options):
    """A layer with weights and statistics other than 1 and 0, and PyTorch's with the same."""
    norm = nn.BatchNorm2d(channels, **options)
    for tensor in (*norm.parameters(), norm.running_mean):
        if tensor is not None:
            nn.init.normal_(tensor)
    return BatchNorm2d.from_module(copy.deepcopy(norm), relu=relu), norm


def run(layer, x, dy, relu=False):
    x = x.detach().requires_grad_()
    y = torch.relu(layer(x)) if relu else layer(x)
    y.backward(dy)
    return y.detach(), x.grad


def computes(x, layer):
    """Whether the layer's own kernel ran, not PyTorch's."""
    return type(layer(x.detach().requires_grad_()).grad_fn).__name__ == "_NormalizeBackward"


def assert_same(layer, norm, x, relu):
    torch.manual_seed(5)
    dy = torch.randn_like(x)
    for got, want in zip(run(layer, x, dy), run(norm, x, dy, relu)):
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)
    for (name, got), want in zip(layer.named_parameters(), norm.parameters()):
        # Sums over all images; their terms are of both signs.
        atol = 1e-5 * x.numel() ** 0.5
        torch.testing.assert_close(got.grad, want.grad, rtol=1e-4, atol=atol, msg=name)
    for (name, got), want in zip(layer.named_buffers(), norm.buffers()):
        torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-6, msg=name)


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("size", [(1, 2), (1, 7), (2, 4), (3, 3), (5, 7), (8, 8), (33, 31)])
def test_matches_pytorch(relu, size):
    layer, norm = pair(6, relu)
    x = 3 * torch.randn(4, 6, *size) + torch.arange(6.0).view(6, 1, 1)
    for _ in range(2):
        assert_same(layer, norm, x, relu)
    assert computes(x, layer)


@pytest.mark.parametrize("options", [{"momentum": None}, {"track_running_stats": False}])
def test_matches_pytorch_with_other_statistics(options):
    layer, norm = pair(6, False, **options)
    for step in range(3):
        assert_same(layer, norm, torch.randn(4, 6, 5, 5) + step, False)
    if "track_running_stats" in options:
        assert_same(layer.eval(), norm.eval(), torch.randn(4, 6, 5, 5), False)
    assert computes(torch.randn(4, 6, 5, 5), layer)


def test_a_large_mean_does_not_spoil_the_variance():
    layer, norm = pair(2, True)
    x = torch.randn(4, 2, 16, 16) + 1000
    expected = torch.relu(norm.double()(x.double()))
    assert (layer(x) - expected).abs().max() < 1e-2  # x has steps of 6e-5, the weight is below 3


def test_results_do_not_depend_on_the_number_of_threads():
    x, dy = torch.randn(8, 5, 120, 120), torch.randn(8, 5, 120, 120)
    results = []
    for threads in (1, 2, 4):
        torch.set_num_threads(threads)
        torch.manual_seed(3)
        layer, _ = pair(5, True)
        results.append([*run(layer, x, dy), layer.weight.grad, layer.running_var])
    for result in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(result, results[0]))


def test_nan_passes_the_relu_as_in_pytorch():
    layer, norm = pair(2, True)
    x = torch.randn(2, 2, 3, 3)
    x[0, 1, 0, 0] = float("nan")
    y, _ = run(layer, x, torch.ones_like(x))
    assert y[:, 1].isnan().all() and not y[:, 0].isnan().any()


@pytest.mark.parametrize(
    "change",
    [
        lambda layer, x: (layer, x.to(memory_format=torch.channels_last)),
        lambda layer, x: (layer.eval(), x),
        lambda layer, x: (layer.double(), x.double()),
        lambda layer, x: (layer, x[:, :, ::2]),
    ],
)
def test_what_the_kernel_does_not_take_goes_to_pytorch(change):
    layer, norm = pair(4, True)
    x = torch.randn(3, 4, 6, 6)
    assert computes(x, layer)
    norm.running_mean.copy_(layer.running_mean)
    norm.running_var.copy_(layer.running_var)
    norm.num_batches_tracked.copy_(layer.num_batches_tracked)
    layer, x_changed = change(layer, x)
    norm, _ = change(norm, x)
    assert not computes(x_changed, layer)
    norm(x_changed)
    assert_same(layer, norm, x_changed, True)


def test_a_cpu_without_avx2_gets_pytorchs_operators(monkeypatch):
    class Old:
        def machine(self):
            return {"avx2_fma": False}

    layer, norm = pair(4, True)
    x = torch.randn(3, 4, 6, 6)
    assert computes(x, copy.deepcopy(layer))
    monkeypatch.setattr("sparsejit.batch_norm.runtime_for", lambda threads: Old())
    assert not computes(x, copy.deepcopy(layer))
    assert_same(layer, norm, x, True)


def test_errors_are_those_of_pytorch():
    layer, _ = pair(4, True)
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        layer(torch.randn(1, 4, 1, 1))
    with pytest.raises(RuntimeError):
        layer(torch.randn(2, 5, 3, 3))
    with pytest.raises(ValueError, match="4D"):
        layer(torch.randn(2, 4))


def test_frozen_inputs_and_expanded_gradients():
    layer, norm = pair(4, True)
    x = torch.randn(3, 4, 6, 6)
    layer(x).sum().backward()
    torch.relu(norm(x)).sum().backward()
    torch.testing.assert_close(layer.weight.grad, norm.weight.grad, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(layer.bias.grad, norm.bias.grad)


def test_second_derivatives_are_refused():
    layer, _ = pair(4, True)
    x = torch.randn(3, 4, 6, 6, requires_grad=True)
    (dx,) = torch.autograd.grad(layer(x).square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        dx.sum().backward()


def block():
    return nn.Sequential(
        *(SparseConv2d(4, 6, 3, padding=1, sparsity=0.5), nn.BatchNorm2d(6), nn.ReLU(inplace=True)),
        *(nn.Conv2d(6, 6, 1), nn.BatchNorm2d(6), nn.Dropout(0.0), nn.ReLU()),
        *(nn.Sequential(nn.BatchNorm2d(6)), nn.ReLU()),
    )


def test_fuse_batch_norm_keeps_names_parameters_and_results():
    model = block()
    plain = copy.deepcopy(model)
    before = dict(model.named_parameters())
    assert sparsejit.fuse_batch_norm(model) is model
    assert {n: id(p) for n, p in model.named_parameters()} == {n: id(p) for n, p in before.items()}
    norms = [m for m in model.modules() if isinstance(m, nn.BatchNorm2d)]
    assert [(type(m), m.relu) for m in norms] == [
        (BatchNorm2d, relu) for relu in (True, False, False)
    ]
    assert type(model[2]) is nn.Identity and type(model[6]) is nn.ReLU
    x = torch.randn(5, 4, 9, 9)
    torch.testing.assert_close(model(x), plain(x), rtol=1e-4, atol=1e-5)
    plain.load_state_dict(model.state_dict())
    torch.testing.assert_close(model.eval()(x), plain.eval()(x))


def test_a_model_that_is_a_batch_norm_is_replaced():
    norm = nn.BatchNorm2d(3).eval()
    fused = sparsejit.fuse_batch_norm(norm)
    assert type(fused) is BatchNorm2d and fused.weight is norm.weight and not fused.training
    assert sparsejit.fuse_batch_norm(fused) is fused


def test_copies_compute_the_same_and_torch_compile_is_left_to_pytorch():
    layer, norm = pair(4, True)
    x = torch.randn(3, 4, 6, 6)
    other = copy.deepcopy(layer)
    assert other.relu and torch.equal(other(x), layer(x))
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(x), torch.relu(norm(x)), rtol=1e-4, atol=1e-5)
