"""sparsify and densify on whole networks."""

import copy

import pytest
import torch
from oracle import assert_matches_dense
from torch import nn
from torch.nn.utils import prune

import sparsejit
from sparsejit import SparseConv2d, SparseLinear, densify, pick_by_timing, report, sparsify


def network():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(8, 16, 3, 2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16 * 3 * 3, 40),
        nn.Linear(40, 10),
    )


def sparse_names(model):
    return [n for n, m in model.named_modules() if isinstance(m, (SparseConv2d, SparseLinear))]


def test_uniform_replaces_all_but_first_and_last():
    model = network()
    assert sparsify(model, 0.9) is model
    assert sparse_names(model) == ["2", "5"]
    assert model[2].nnz == 115 and model[5].nnz == 576


def test_outputs_are_those_of_the_masked_network():
    model = network()
    sparsify(model, 0.9, method="global")
    x = torch.randn(4, 3, 8, 8)
    dense = densify(copy.deepcopy(model))
    assert sparse_names(dense) == []
    torch.testing.assert_close(model(x), dense(x), rtol=1e-5, atol=1e-5)


def test_a_layer_alone_is_replaced_too():
    layer = sparsify(nn.Linear(30, 20), 0.9, method="erk")
    assert isinstance(layer, SparseLinear) and layer.nnz == 60
    assert isinstance(densify(layer), nn.Linear)


def test_include_and_exclude_choose_layers():
    assert sparse_names(sparsify(network(), 0.9, method="erk", include=["[25]"])) == ["2", "5"]
    assert sparse_names(sparsify(network(), 0.9, method="erk", exclude=["0"])) == ["2", "5", "6"]
    only_linear = sparsify(
        network(), 0.9, method="erk", include=lambda name, module: isinstance(module, nn.Linear)
    )
    assert sparse_names(only_linear) == ["5", "6"]


def test_layers_under_the_threshold_compute_densely_with_their_mask():
    model = network()
    masks = {"2": torch.rand(16, 8, 3, 3) < 0.5, "5": torch.rand(40, 144) < 0.1}
    sparsify(model, masks=masks)
    assert model[2].runs_dense and not model[5].runs_dense
    assert torch.equal(model[2].mask, masks["2"])
    assert_matches_dense(model[2], torch.randn(4, 8, 7, 7))
    assert_matches_dense(model[5], torch.randn(4, 144))
    model[2].set_mask(torch.rand(16, 8, 3, 3) < 0.1)
    assert not model[2].runs_dense


@pytest.mark.parametrize("padding", ["same", (1, 0)])
def test_dense_computation_of_convolutions(padding):
    layer = SparseConv2d(
        4, 6, (2, 3), padding=padding, dilation=1, groups=2, sparsity=0.3, relu=True
    )
    x = torch.randn(2, 4, 7, 6)
    sparse = layer(x)
    layer.dense_below = 1.0
    torch.testing.assert_close(layer(x), sparse)


def test_masks_of_torch_prune_are_read():
    model = network()
    prune.l1_unstructured(model[5], "weight", amount=0.9)
    mask = model[5].weight_mask.bool()
    sparsify(model)
    assert sparse_names(model) == ["5"] and torch.equal(model[5].mask, mask)


def test_shared_weights_and_subclasses_stay_dense():
    class Own(nn.Linear):
        pass

    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8), Own(8, 8), nn.Embedding(8, 8))
    model[1].weight = model[3].weight
    assert sparse_names(sparsify(model, 0.9, method="erk")) == ["0"]


def test_a_module_under_two_names_stays_one():
    layer = nn.Linear(8, 8)
    model = nn.ModuleDict({"a": layer, "b": layer})
    sparsify(model, 0.9, method="erk")
    assert model["a"] is model["b"] and isinstance(model["a"], SparseLinear)


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({}, ValueError, "neither sparsity nor masks"),
        ({"sparsity": 0.9, "masks": {}}, ValueError, "both"),
        ({"sparsity": 95}, ValueError, "95"),
        ({"masks": {"9": torch.ones(1)}}, ValueError, "no layer '9', expected one of 0, 2, 5, 6"),
        ({"masks": {"5": torch.ones(1)}}, ValueError, r"\(1,\), expected \(40, 144\)"),
        ({"sparsity": 0.9, "include": "5"}, TypeError, "list of patterns"),
    ],
)
def test_wrong_arguments_name_the_value(arguments, error, message):
    with pytest.raises(error, match=message):
        sparsify(network(), **arguments)


def test_report_has_a_line_for_each_layer():
    model = sparsify(network(), 0.9, method="erk", threshold=0.92)
    model(torch.randn(4, 3, 8, 8))
    lines = report(model).splitlines()
    assert len(lines) == 6 and lines[-1].split()[0] == "total"
    assert "16x8x3x3" in lines[2] and "forward" in report(model) and "dense" in report(model)


def test_picking_times_every_layer_and_leaves_no_gradients():
    model = sparsify(network(), 0.99, method="erk", example_input=torch.randn(4, 3, 8, 8))
    times = pick_by_timing(model, torch.randn(4, 3, 8, 8))
    assert list(times) == ["0", "2", "5", "6"]
    for name, (sparse, dense) in times.items():
        assert sparse > 0 and dense > 0
        assert model.get_submodule(name).runs_dense == (dense < sparse)
    assert all(p.grad is None for p in model.parameters())


def test_picking_prefers_what_is_faster():
    model = nn.Sequential(
        SparseLinear(512, 512, sparsity=0.0), SparseLinear(2048, 2048, sparsity=0.99)
    )
    model.insert(1, nn.Linear(512, 2048))
    times = pick_by_timing(model, torch.randn(256, 512))
    assert sorted(times) == ["0", "2"]
    for name, (sparse, dense) in times.items():
        assert model.get_submodule(name).runs_dense == (dense < sparse)
    assert not model[2].runs_dense


def test_picking_takes_dense_where_that_is_faster(monkeypatch):
    seconds = {False: 2.0, True: 1.0}  # by whether dense runs
    monkeypatch.setattr(
        sparsejit.picking, "_seconds", lambda module, x, dense_below: seconds[dense_below > 0]
    )
    model = nn.Sequential(SparseLinear(64, 64, sparsity=0.5))
    assert pick_by_timing(model, torch.randn(8, 64)) == {"0": (2.0, 1.0)}
    assert model[0].runs_dense


def test_show_config_names_machine_and_versions():
    text = sparsejit.show_config()
    assert torch.__version__ in text and "AVX2" in text


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'sparsefy'"):
        sparsejit.sparsefy
