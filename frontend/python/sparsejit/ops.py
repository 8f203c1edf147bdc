"""Forward and backward of a sparse layer for autograd, and the same as operators for tracing.

`sparse_layer` is the entry. Eagerly it is an autograd.Function, 6 us a call where a registered
operator with autograd takes 20; under torch.compile it is the operator `sparsejit::forward`,
whose fake implementation makes tensors of the right shape and strides.

    dx       = dy W        over the stored weights, in one pass with
    d_values = dy^T x      sampled at the mask
"""

from typing import Optional

from ._torch import torch
from .activations import (
    ABSENT,
    check_float32,
    check_input,
    empty_input_gradient,
    empty_output,
    view_of,
)
from .kernel import Kernel, kernel_of

MaybeTensor = Optional[torch.Tensor]


def sparse_layer(
    x: torch.Tensor, values: torch.Tensor, bias: MaybeTensor, kernel: Kernel
) -> torch.Tensor:
    if torch.compiler.is_compiling():
        return torch.ops.sparsejit.forward(x, values, bias, kernel.handle)
    return _SparseLayer.apply(x, values, bias, kernel)


def run_forward(
    kernel: Kernel, x: torch.Tensor, values: torch.Tensor, bias: MaybeTensor
) -> torch.Tensor:
    check_input(kernel, x)
    check_float32(values, "values")
    y = empty_output(kernel, x)
    if x.numel() == 0:
        return y
    values = values.contiguous()
    if bias is None:
        bias_array = (0, 0)
    else:
        check_float32(bias, "bias")
        bias = bias.contiguous()
        bias_array = (bias.data_ptr(), bias.numel())
    x, x_view = view_of(kernel, x)
    _, y_view = view_of(kernel, y)
    kernel.layer.run_forward(*x_view, values.data_ptr(), values.numel(), *bias_array, *y_view)
    return y


def run_backward(
    kernel: Kernel,
    dy: torch.Tensor,
    x: torch.Tensor,
    values: torch.Tensor,
    y: MaybeTensor,
    needs: tuple[bool, bool, bool],
) -> tuple[MaybeTensor, MaybeTensor, MaybeTensor]:
    """The gradients of x, values and bias; None where `needs` says so. `y`: of layers with ReLU."""
    check_float32(dy, "dy")
    dx = empty_input_gradient(kernel, x) if needs[0] else None
    d_bias = torch.empty(kernel.shape[0]) if needs[2] else None
    values = values.contiguous()
    d_values = torch.empty_like(values) if needs[1] else None
    if x.numel() == 0:
        for gradient in (d_values, d_bias):
            if gradient is not None:
                gradient.zero_()
    else:
        x, x_view = view_of(kernel, x)
        dy, dy_view = view_of(kernel, dy)
        dx_view = ABSENT if dx is None else view_of(kernel, dx)[1]
        y_view = ABSENT if y is None else view_of(kernel, y)[1]
        kernel.layer.run_backward(
            *x_view,
            *dy_view,
            values.data_ptr(),
            values.numel(),
            dx_view[0],
            dx_view[2],
            0 if d_values is None else d_values.data_ptr(),
            0 if d_bias is None else d_bias.data_ptr(),
            0 if d_bias is None else d_bias.numel(),
            y_view[0],
            y_view[2],
        )
    return dx, d_values, d_bias


class _SparseLayer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, values, bias, kernel):
        y = run_forward(kernel, x, values, bias)
        ctx.kernel = kernel
        ctx.mask = kernel.mask
        ctx.save_for_backward(x, values, y if kernel.relu else None)
        return y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy):
        if ctx.kernel.mask is not ctx.mask:
            raise RuntimeError(
                "backward: the mask of this layer has changed since forward; call set_mask after "
                "backward and optimizer.step()"
            )
        x, values, y = ctx.saved_tensors
        gradients = run_backward(ctx.kernel, dy, x, values, y, ctx.needs_input_grad[:3])
        return (*gradients, None)


_library = torch.library.Library("sparsejit", "DEF")
_library.define("forward(Tensor x, Tensor values, Tensor? bias, int handle) -> Tensor")
_library.define(
    "backward(Tensor dy, Tensor x, Tensor values, Tensor? y, bool[3] needs, int handle)"
    " -> (Tensor, Tensor, Tensor)"
)


def _forward_operator(x, values, bias, handle):
    return run_forward(kernel_of(handle), x, values, bias)


def _backward_operator(dy, x, values, y, needs, handle):
    gradients = run_backward(kernel_of(handle), dy, x, values, y, tuple(needs))
    return tuple(torch.empty(0) if g is None else g for g in gradients)


def _fake_forward(x, values, bias, handle):
    kernel = kernel_of(handle)
    check_input(kernel, x)
    return empty_output(kernel, x)


def _fake_backward(dy, x, values, y, needs, handle):
    kernel = kernel_of(handle)
    return (
        empty_input_gradient(kernel, x) if needs[0] else torch.empty(0),
        torch.empty_like(values) if needs[1] else torch.empty(0),
        torch.empty(kernel.shape[0]) if needs[2] else torch.empty(0),
    )


def _save_for_backward(ctx, inputs, output):
    x, values, _, ctx.handle = inputs
    ctx.save_for_backward(x, values, output if kernel_of(ctx.handle).relu else None)


def _traced_backward(ctx, dy):
    x, values, y = ctx.saved_tensors
    needs = list(ctx.needs_input_grad[:3])
    gradients = torch.ops.sparsejit.backward(dy, x, values, y, needs, ctx.handle)
    return (*(g if need else None for g, need in zip(gradients, needs)), None)


_library.impl("forward", _forward_operator, "CPU")
_library.impl("backward", _backward_operator, "CPU")
torch.library.register_fake("sparsejit::forward", _fake_forward)
torch.library.register_fake("sparsejit::backward", _fake_backward)
torch.library.register_autograd(
    "sparsejit::forward", _traced_backward, setup_context=_save_for_backward
)
