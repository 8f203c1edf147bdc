"""Where activations and their gradients lie in memory, and how they are handed to the runtime.

The runtime takes any strides, and uses *feature-major* matrices in place: the samples of a feature
are adjacent, strides (1, pitch). Outputs of linear layers are made so, as views of the shape that
nn.Linear gives; a chain of sparse layers then never transposes. Gradients of inputs lie as the
inputs do. Convolutions keep the memory format of their input.

    x (8, 16, 768)  ->  y (8, 16, 3072), strides (16, 1, pitch)      pitch >= 8 * 16
"""

from math import prod

from . import _core
from ._torch import torch
from .kernel import Kernel

# (address, shape, strides), as the extension takes tensors.
View = tuple[int, tuple, tuple]
ABSENT: View = (0, (), ())


def check_float32(tensor: torch.Tensor, name: str) -> None:
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{name}: {type(tensor).__name__}, expected a torch.Tensor")
    if tensor.dtype is not torch.float32:
        raise TypeError(
            f"{name}: {tensor.dtype}, expected torch.float32; cast it with {name}.float()"
        )
    if tensor.layout is not torch.strided:
        raise ValueError(
            f"{name}: a {tensor.layout} tensor, expected a dense one; convert it with "
            f"{name}.to_dense()"
        )
    if tensor.device.type != "cpu":
        raise ValueError(f"{name}: on {tensor.device}, expected the cpu; move it with {name}.cpu()")


def view_of(kernel: Kernel, tensor: torch.Tensor) -> tuple[torch.Tensor, View]:
    """The view the runtime takes, and a tensor that keeps its memory alive."""
    if kernel.conv is None:
        if tensor.dim() != 2:
            tensor = tensor.reshape(-1, tensor.shape[-1])
    elif tensor.dim() == 3:
        tensor = tensor.unsqueeze(0)
    return tensor, (tensor.data_ptr(), tensor.shape, tensor.stride())


def _empty_matrix(leading: tuple, features: int, feature_major: bool) -> torch.Tensor:
    samples = prod(leading)
    if not feature_major or samples <= 1:
        return torch.empty(*leading, features)
    strides = [1]
    for extent in reversed(leading[1:]):
        strides.insert(0, strides[0] * extent)
    return torch.empty_strided((*leading, features), (*strides, _core.stream_pitch(int(samples))))


def _is_channels_last(images: torch.Tensor) -> bool:
    return (
        images.dim() == 4
        and images.is_contiguous(memory_format=torch.channels_last)
        and not images.is_contiguous()
    )


def _empty_images(shape: tuple, channels_last: bool) -> torch.Tensor:
    form = torch.channels_last if channels_last else torch.contiguous_format
    return torch.empty(shape, memory_format=form)


def output_size(kernel: Kernel, height: int, width: int) -> tuple[int, int]:
    """Of the images a convolution makes from height x width ones."""
    stride_h, stride_w, top, bottom, left, right, dilation_h, dilation_w, _ = kernel.conv
    _, _, kernel_h, kernel_w = kernel.shape
    out_h = (height + top + bottom - dilation_h * (kernel_h - 1) - 1) // stride_h + 1
    out_w = (width + left + right - dilation_w * (kernel_w - 1) - 1) // stride_w + 1
    if out_h <= 0 or out_w <= 0:
        raise ValueError(
            f"x: images of {height}x{width} leave an output of {out_h}x{out_w}, expected at least "
            f"1x1 from a {kernel_h}x{kernel_w} kernel"
        )
    return out_h, out_w


def empty_output(kernel: Kernel, x: torch.Tensor) -> torch.Tensor:
    if kernel.conv is None:
        return _empty_matrix(tuple(x.shape[:-1]), kernel.shape[0], kernel.feature_major)
    size = output_size(kernel, x.shape[-2], x.shape[-1])
    return _empty_images((*x.shape[:-3], kernel.shape[0], *size), _is_channels_last(x))


def empty_input_gradient(kernel: Kernel, x: torch.Tensor) -> torch.Tensor:
    if kernel.conv is None:
        feature_major = x.dim() > 1 and x.stride(-2) == 1 and x.stride(-1) != 1
        return _empty_matrix(tuple(x.shape[:-1]), x.shape[-1], feature_major)
    return _empty_images(tuple(x.shape), _is_channels_last(x))


def check_input(kernel: Kernel, x: torch.Tensor) -> None:
    check_float32(x, "x")
    if kernel.conv is None:
        if x.dim() < 1 or x.shape[-1] != kernel.shape[1]:
            raise ValueError(
                f"x: shape {tuple(x.shape)}, expected (..., {kernel.shape[1]}) for a linear layer "
                f"of {kernel.shape[1]} inputs"
            )
        return
    channels = kernel.shape[1] * kernel.conv[-1]
    if x.dim() not in (3, 4) or x.shape[-3] != channels:
        raise ValueError(
            f"x: shape {tuple(x.shape)}, expected (images, {channels}, height, width) or "
            f"({channels}, height, width) for a convolution of {channels} channels"
        )
