"""SparseLinear against nn.Linear with the same weights."""

import pytest
import torch
from oracle import CLOSE, assert_matches_dense, assert_relu_in_the_kernel_is_relu
from torch import nn

from sparsejit import SparseLinear


@pytest.mark.parametrize("layout", ["feature_major", "row_major"])
@pytest.mark.parametrize("batch", [1, 2, 7, 8, 9, 17, 33, 130])
@pytest.mark.parametrize("sizes", [(1, 1), (5, 3), (40, 17), (64, 96)])
def test_equals_dense(batch, sizes, layout):
    layer = SparseLinear(*sizes, sparsity=0.7, layout=layout)
    assert_matches_dense(layer, torch.randn(batch, sizes[0]))


@pytest.mark.parametrize("leading", [(), (3,), (4, 5), (2, 3, 4)])
def test_takes_any_leading_dimensions(leading):
    layer = SparseLinear(20, 12, sparsity=0.5)
    y = layer(torch.randn(*leading, 20))
    assert y.shape == (*leading, 12)
    assert_matches_dense(layer, torch.randn(*leading, 20))


def test_takes_an_input_without_axes_only_as_an_error():
    with pytest.raises(ValueError, match=r"shape \(\), expected"):
        SparseLinear(20, 12, sparsity=0.5)(torch.tensor(1.0))


@pytest.mark.parametrize(
    "make",
    [
        lambda t: t.t().contiguous().t(),
        lambda t: torch.randn(40, 48)[5:31, 3:43].copy_(t),
        lambda t: t[:1].expand(26, 40),
        lambda t: t.flip(0)[::1],
        lambda t: torch.randn(52, 40)[::2].copy_(t),
    ],
)
def test_takes_any_strides_of_the_input(make):
    layer = SparseLinear(40, 24, sparsity=0.8)
    assert_matches_dense(layer, make(torch.randn(26, 40)))


@pytest.mark.parametrize(
    "make",
    [
        lambda t: torch.ones(()).expand(26, 24),
        lambda t: torch.randn(24, 26).t(),
        lambda t: torch.randn(26, 1).expand(26, 24),
        lambda t: torch.randn(30, 40)[2:28, 4:28],
    ],
)
def test_takes_any_strides_of_the_gradient(make):
    layer = SparseLinear(40, 24, sparsity=0.8)
    assert_matches_dense(layer, torch.randn(26, 40), make(None))


def test_three_stored_weights_have_three_gradients():
    mask = torch.zeros(4, 5)
    mask[0, 1] = mask[2, 0] = mask[2, 4] = 1
    layer = SparseLinear(5, 4, mask=mask)
    x = torch.randn(6, 5)
    layer(x).sum().backward()
    torch.testing.assert_close(layer.values.grad, x.sum(0)[[1, 0, 4]])


def test_without_stored_weights_the_output_is_the_bias():
    layer = SparseLinear(5, 4, mask=torch.zeros(4, 5))
    x = torch.full((3, 5), float("nan"), requires_grad=True)
    y = layer(x)
    assert torch.equal(y, layer.bias.expand(3, 4))
    y.sum().backward()
    assert torch.equal(x.grad, torch.zeros(3, 5))
    assert layer.values.grad.shape == (0,)


def test_pruned_weights_do_not_touch_their_input():
    weight = nn.Linear(3, 2, bias=False)
    weight.weight.data = torch.tensor([[1.0, 0, 0], [0, 2, 0]])
    layer = SparseLinear.from_dense(weight)
    y = layer(torch.tensor([[1.0, float("nan"), 3.0]]))
    assert y[0, 0] == 1 and y[0, 1].isnan()
    y.sum().backward()
    assert layer.values.grad[0] == 1 and layer.values.grad[1].isnan()


@pytest.mark.parametrize("shape", [(0, 6), (3, 0, 6)])
@pytest.mark.parametrize("relu", [False, True])
def test_batches_of_no_samples_work(shape, relu):
    layer = SparseLinear(6, 4, sparsity=0.5, relu=relu)
    x = torch.randn(shape, requires_grad=True)
    y = layer(x)
    assert y.shape == (*shape[:-1], 4)
    y.sum().backward()
    assert x.grad.shape == x.shape
    assert torch.equal(layer.values.grad, torch.zeros(layer.nnz))
    assert torch.equal(layer.bias.grad, torch.zeros(4))


def test_relu_in_the_kernel_equals_relu_behind_it():
    fused = SparseLinear(30, 20, sparsity=0.6, relu=True)
    assert_relu_in_the_kernel_is_relu(fused, torch.randn(25, 30), torch.randn(25, 20))


@pytest.mark.parametrize("wanted", range(1, 8))
@pytest.mark.parametrize("relu", [False, True])
def test_only_the_gradients_asked_for(wanted, relu):
    layer = SparseLinear(30, 20, sparsity=0.6, relu=relu)
    x = torch.randn(25, 30)
    dy = torch.randn(25, 20)
    reference = (x.clone().requires_grad_(), layer.values, layer.bias)
    expected = torch.autograd.grad(layer(reference[0]), reference, dy)
    leaves = (x, layer.values, layer.bias)
    for i, leaf in enumerate(leaves):
        leaf.requires_grad_(bool(wanted >> i & 1))
    layer(x).backward(dy)
    for leaf, gradient in zip(leaves, expected):
        if leaf.requires_grad:
            torch.testing.assert_close(leaf.grad, gradient, **CLOSE)
        else:
            assert leaf.grad is None


def test_a_chain_is_feature_major_throughout():
    first, second = SparseLinear(16, 32, sparsity=0.5), SparseLinear(32, 8, sparsity=0.5)
    y = first(torch.randn(24, 16))
    assert y.stride(0) == 1
    strides = []
    y.register_hook(lambda dy: strides.append(dy.stride()))
    z = second(torch.relu(y))
    assert z.stride(0) == 1
    z.sum().backward()
    assert strides[0][0] == 1


def test_row_major_layout_is_contiguous():
    layer = SparseLinear(16, 32, sparsity=0.5, layout="row_major")
    assert layer(torch.randn(2, 9, 16)).is_contiguous()


def test_makes_no_dense_tensor(monkeypatch):
    layer = SparseLinear(768, 3072, sparsity=0.99)
    largest = 0

    class Largest(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            nonlocal largest
            result = func(*args, **(kwargs or {}))
            if isinstance(result, torch.Tensor):
                largest = max(largest, result.numel())
            return result

    with Largest():
        layer(torch.randn(8, 768)).sum().backward()
    assert 8 * 3072 <= largest < 768 * 3072 // 10


def test_skips_gradients_nobody_needs():
    layer = SparseLinear(10, 6, sparsity=0.5)
    x = torch.randn(4, 10, requires_grad=True)
    layer.values.requires_grad_(False)
    layer.bias.requires_grad_(False)
    layer(x).sum().backward()
    assert layer.values.grad is None and layer.bias.grad is None
    torch.testing.assert_close(x.grad, layer.dense().sum(0).expand(4, 10))
    with torch.no_grad():
        assert not layer(x).requires_grad


def test_second_derivatives_raise():
    layer = SparseLinear(10, 6, sparsity=0.5)
    x = torch.randn(4, 10, requires_grad=True)
    (dx,) = torch.autograd.grad(layer(x).square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        dx.sum().backward()


def test_backward_twice_raises_or_adds():
    layer = SparseLinear(10, 6, sparsity=0.5)
    y = layer(torch.randn(4, 10)).sum()
    y.backward(retain_graph=True)
    once = layer.values.grad.clone()
    y.backward()
    torch.testing.assert_close(layer.values.grad, 2 * once)
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16, torch.int64])
def test_other_types_name_the_cast(dtype):
    layer = SparseLinear(10, 6, sparsity=0.5)
    with pytest.raises(TypeError, match=rf"x: {dtype}.*x\.float\(\)"):
        layer(torch.zeros(4, 10, dtype=dtype))


def test_other_devices_name_the_move():
    layer = SparseLinear(10, 6, sparsity=0.5)
    with pytest.raises(TypeError, match="ndarray, expected a torch.Tensor"):
        layer(torch.zeros(4, 10).numpy())
    with pytest.raises(ValueError, match=r"sparse_coo.*x\.to_dense\(\)"):
        layer(torch.zeros(4, 10).to_sparse())
    with pytest.raises(ValueError, match=r"on meta.*x\.cpu\(\)"):
        layer(torch.zeros(4, 10, device="meta"))


def test_a_cast_module_names_its_values():
    layer = SparseLinear(10, 6, sparsity=0.5).double()
    with pytest.raises(TypeError, match=r"values: torch\.float64"):
        layer(torch.zeros(4, 10))


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda layer: setattr(layer.values, "data", torch.zeros(3)), "values"),
        (lambda layer: setattr(layer.bias, "data", torch.zeros(5)), "bias"),
    ],
)
def test_arrays_of_another_length_are_refused(change, message):
    layer = SparseLinear(10, 6, sparsity=0.5)
    change(layer)
    with pytest.raises(ValueError, match=message):
        layer(torch.zeros(4, 10))


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({}, ValueError, "neither"),
        ({"sparsity": 0.5, "mask": torch.ones(6, 10)}, ValueError, "both"),
        ({"sparsity": 1.5}, ValueError, "1.5"),
        ({"sparsity": float("nan")}, ValueError, "nan"),
        ({"mask": torch.ones(10, 6)}, ValueError, r"\(10, 6\), expected \(6, 10\)"),
        ({"mask": torch.full((6, 10), float("nan"))}, ValueError, "NaN"),
        ({"mask": [[1]]}, TypeError, "list"),
        ({"mask": torch.ones(6, 10).to_sparse()}, ValueError, "sparse"),
        ({"sparsity": 0.5, "layout": "columns"}, ValueError, "columns"),
    ],
)
def test_wrong_arguments_name_the_value(arguments, error, message):
    with pytest.raises(error, match=message):
        SparseLinear(10, 6, **arguments)


def test_wrong_width_names_both():
    with pytest.raises(ValueError, match=r"\(4, 9\), expected \(\.\.\., 10\)"):
        SparseLinear(10, 6, sparsity=0.5)(torch.zeros(4, 9))


def test_threads_follow_pytorch_and_change_no_bit():
    layer = SparseLinear(300, 400, sparsity=0.8)
    x = torch.randn(200, 300)
    alone = layer(x)
    torch.set_num_threads(2)
    assert torch.equal(layer(x), alone)
