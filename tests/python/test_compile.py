"""Layers under torch.compile: one graph, the same numbers, masks that change."""

import pytest
import torch
from torch import nn

from sparsejit import SparseConv2d, SparseLinear


def network():
    return nn.Sequential(
        SparseConv2d(3, 8, 3, padding=1, sparsity=0.5, relu=True),
        nn.Flatten(),
        SparseLinear(8 * 6 * 6, 20, sparsity=0.8),
        nn.GELU(),
        SparseLinear(20, 4, sparsity=0.3, bias=False, layout="row_major"),
    )


def losses_and_gradients(model, function, x):
    model.zero_grad()
    y = function(x)
    y.square().sum().backward()
    return [y.detach(), *(p.grad for p in model.parameters())]


def assert_same(model, compiled, x):
    expected = losses_and_gradients(model, model, x)
    for got, want in zip(losses_and_gradients(model, compiled, x), expected):
        torch.testing.assert_close(got, want)


def test_compiles_to_one_graph_with_the_same_numbers():
    model = network()
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    assert_same(model, compiled, torch.randn(16, 3, 6, 6))
    assert_same(model, compiled, torch.randn(8, 3, 6, 6))


def test_follows_a_mask_that_changes():
    model = network()
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    x = torch.randn(16, 3, 6, 6)
    assert_same(model, compiled, x)
    model[2].set_mask(torch.rand(20, 288) < 0.5, fresh=0.1)
    assert_same(model, compiled, x)


def test_layers_that_compute_densely_compile_too():
    model = network()
    model[2].dense_below = model[0].dense_below = 1.0
    compiled = torch.compile(model, backend="aot_eager")
    assert_same(model, compiled, torch.randn(16, 3, 6, 6))
    model[2].set_mask(torch.rand(20, 288) < 0.5, fresh=0.1)
    assert_same(model, compiled, torch.randn(16, 3, 6, 6))


def test_operators_pass_the_checks_of_pytorch():
    layer = SparseLinear(20, 12, sparsity=0.5, relu=True)
    x = torch.randn(9, 20, requires_grad=True)
    torch.library.opcheck(
        torch.ops.sparsejit.forward.default, (x, layer.values, layer.bias, layer._kernel.handle)
    )


def test_an_operator_of_a_layer_that_is_gone_says_so():
    layer = SparseLinear(20, 12, sparsity=0.5)
    values, handle = layer.values, layer._kernel.handle
    del layer
    with pytest.raises(RuntimeError, match="no longer exists"):
        torch.ops.sparsejit.forward(torch.zeros(1, 20), values, None, handle)
