"""SparseConv2d: nn.Conv2d over the stored weights."""

from typing import Optional, Union

from ._torch import torch
from .kernel import ConvNumbers
from .modules import (
    SparseModule,
    copy_parameters,
    dense_weight_and_mask,
    initial_mask,
)
from .options import CompileOptions

nn = torch.nn
Pair = Union[int, tuple[int, int]]


def _pair(value: Pair, name: str, least: int) -> tuple[int, int]:
    pair = (value, value) if isinstance(value, int) else tuple(value)
    if len(pair) != 2 or not all(isinstance(v, int) and v >= least for v in pair):
        raise ValueError(f"{name}: {value!r}, expected an int or two, at least {least}")
    return pair


def _sides(
    padding: Union[str, Pair], kernel: tuple, stride: tuple, dilation: tuple
) -> tuple[int, int, int, int]:
    """Padding at top, bottom, left and right."""
    if padding == "same":
        if stride != (1, 1):
            raise ValueError(f"padding 'same' with stride {stride}, expected stride 1")
        (top, left), (height, width) = (
            [d * (k - 1) // 2 for d, k in zip(dilation, kernel)],
            [d * (k - 1) for d, k in zip(dilation, kernel)],
        )
        return top, height - top, left, width - left
    if isinstance(padding, str) and padding != "valid":
        raise ValueError(f"padding: {padding!r}, expected 'same', 'valid' or ints")
    top, left = (0, 0) if padding == "valid" else _pair(padding, "padding", 0)
    return top, top, left, left


class SparseConv2d(SparseModule):
    """nn.Conv2d (zero padding) with the weight (out, in / groups, kernel h, kernel w) stored where
    `mask` is nonzero, or at random with `sparsity` from 0 to 1.

    x (images, in_channels, height, width) or without images, float32; y in x's memory format.
    `relu`: y = max(0, ...), computed in the kernel. `compile`, `expected_calls`, `deterministic`:
    when machine code is made and how engines are chosen, see CompileOptions."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Pair,
        stride: Pair = 1,
        padding: Union[str, Pair] = 0,
        dilation: Pair = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        *,
        mask: Optional[torch.Tensor] = None,
        sparsity: Optional[float] = None,
        relu: bool = False,
        compile: str = "immediate",
        expected_calls: int = 0,
        deterministic: bool = False,
    ):
        super().__init__()
        if padding_mode != "zeros":
            raise ValueError(f"padding_mode: {padding_mode!r}, expected 'zeros'")
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise ValueError(
                f"groups: {groups}, expected a divisor of {in_channels} and {out_channels} channels"
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = _pair(kernel_size, "kernel_size", 1)
        self.stride = _pair(stride, "stride", 1)
        self.padding = padding
        self.dilation = _pair(dilation, "dilation", 1)
        self.groups = groups
        self.padding_sides = _sides(padding, self.kernel_size, self.stride, self.dilation)
        self.weight_shape = (out_channels, in_channels // groups, *self.kernel_size)
        options = CompileOptions(compile, expected_calls, deterministic)
        self._create(initial_mask(self.weight_shape, mask, sparsity), bias, relu, options)

    def _conv_numbers(self) -> ConvNumbers:
        return (*self.stride, *self.padding_sides, *self.dilation, self.groups)

    def _padded(self, x: torch.Tensor) -> tuple[torch.Tensor, tuple[int, int]]:
        """x and the padding PyTorch's operators still have to add, which is symmetric."""
        top, bottom, left, right = self.padding_sides
        if (top, left) == (bottom, right):
            return x, (top, left)
        return nn.functional.pad(x, (left, right, top, bottom)), (0, 0)

    def _dense_operator(self, x, weight):
        x, padding = self._padded(x)
        return nn.functional.conv2d(
            x, weight, self.bias, self.stride, padding, self.dilation, self.groups
        )

    def dense_weight_gradient(self, x, dy):
        """Of every weight, stored or not, summed over the images."""
        if x.dim() == 3:
            x, dy = x.unsqueeze(0), dy.unsqueeze(0)
        x, padding = self._padded(x)
        return nn.grad.conv2d_weight(
            x, self.weight_shape, dy, self.stride, padding, self.dilation, self.groups
        )

    def _settings(self) -> dict:
        names = ("in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation")
        return {name: getattr(self, name) for name in (*names, "groups")}

    @classmethod
    def from_dense(
        cls,
        module: nn.Conv2d,
        mask: Optional[torch.Tensor] = None,
        *,
        relu: bool = False,
        compile: str = "immediate",
        expected_calls: int = 0,
        deterministic: bool = False,
    ) -> "SparseConv2d":
        """The same layer with only the weights of `mask` (of the weight's shape); without one, of
        the mask that torch.nn.utils.prune put on it, or else those that are not 0."""
        if not isinstance(module, nn.Conv2d):
            raise TypeError(f"from_dense: {type(module).__name__}, expected nn.Conv2d")
        weight, mask = dense_weight_and_mask(module, mask)
        sparse = cls(
            **cls._settings(module),
            bias=module.bias is not None,
            padding_mode=module.padding_mode,
            mask=mask,
            relu=relu,
            compile=compile,
            expected_calls=expected_calls,
            deterministic=deterministic,
        )
        copy_parameters(sparse, module, weight)
        return sparse

    def to_dense(self) -> nn.Conv2d:
        """An nn.Conv2d with zeros for what is not stored; ReLU is not part of it."""
        dense = nn.Conv2d(**self._settings(), bias=self.bias is not None)
        self.copy_to_dense(dense)
        return dense

    def extra_repr(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self._settings().items())
        return f"{settings}, {self._repr_of_sparse()}"
