"""BatchNorm2d: nn.BatchNorm2d for training on the CPU, with a ReLU behind it in the same pass.

    model = sparsejit.fuse_batch_norm(model)       # every nn.BatchNorm2d, ReLUs in nn.Sequential

PyTorch's kernel for images in NCHW order adds up in scalar doubles; once convolutions are sparse,
it is a quarter of a training step. See src/batch_norm.h for the one used instead. What that does
not take (other memory formats and types, evaluation, tracing by torch.compile, a CPU without AVX2)
goes to PyTorch's own operators, with the same result within rounding.
"""

from typing import Optional

from . import _core
from ._torch import torch
from .activations import check_float32
from .config import runtime_for

nn = torch.nn


class BatchNorm2d(nn.BatchNorm2d):
    """As nn.BatchNorm2d; `relu`: y = max(0, ...)."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: Optional[float] = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        *,
        relu: bool = False,
    ):
        super().__init__(num_features, eps, momentum, affine, track_running_stats)
        self.relu = bool(relu)

    @classmethod
    def from_module(cls, module: nn.BatchNorm2d, *, relu: bool = False) -> "BatchNorm2d":
        """With the same Parameters and buffers, not copies: optimizers keep them."""
        fused = cls(
            module.num_features,
            module.eps,
            module.momentum,
            module.affine,
            module.track_running_stats,
            relu=relu,
        )
        fused._parameters.update(module._parameters)
        fused._buffers.update(module._buffers)
        return fused.train(module.training)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self._takes(x):
            y = super().forward(x)
            return torch.relu(y) if self.relu else y
        y, mean, variance = _Normalize.apply(x, self.weight, self.bias, self.eps, self.relu)
        if self.track_running_stats and self.running_mean is not None:
            self._track(mean, variance, x.numel() // x.shape[1])
        return y

    def _takes(self, x: torch.Tensor) -> bool:
        """Whether the kernel computes this, rather than PyTorch."""
        return (
            (self.training or self.running_mean is None)
            and not torch.compiler.is_compiling()
            and x.dim() == 4
            and x.shape[1] == self.num_features
            and x.is_contiguous()
            and x.numel() > x.shape[1]  # PyTorch refuses one value per channel
            and self.affine
            and all(
                t.dtype is torch.float32 and t.device.type == "cpu" and t.layout is torch.strided
                for t in (x, self.weight, self.bias)
            )
            and runtime_for(1).machine()["avx2_fma"]
        )

    @torch.no_grad()
    def _track(self, mean: torch.Tensor, variance: torch.Tensor, count: int) -> None:
        self.num_batches_tracked.add_(1)
        share = 1 / float(self.num_batches_tracked) if self.momentum is None else self.momentum
        self.running_mean.lerp_(mean, share)
        self.running_var.lerp_(variance * (count / (count - 1)), share)

    def extra_repr(self) -> str:
        return super().extra_repr() + (", relu=True" if self.relu else "")


class _Normalize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps, relu):
        y, mean, variance = torch.empty_like(x), torch.empty_like(bias), torch.empty_like(bias)
        weight, bias = weight.contiguous(), bias.contiguous()
        ctx.sizes = (x.shape[0], x.shape[1], x.shape[2] * x.shape[3])
        ctx.eps, ctx.relu = eps, relu
        _core.batch_norm_forward(
            ctx.sizes,
            weight.data_ptr(),
            bias.data_ptr(),
            eps,
            relu,
            x.data_ptr(),
            y.data_ptr(),
            mean.data_ptr(),
            variance.data_ptr(),
            torch.get_num_threads(),
        )
        ctx.save_for_backward(x, weight, bias, mean, variance)
        ctx.mark_non_differentiable(mean, variance)
        return y, mean, variance

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy, _mean, _variance):
        check_float32(dy, "dy")
        x, weight, bias, mean, variance = ctx.saved_tensors
        dy = dy.contiguous()
        dx = torch.empty_like(x) if ctx.needs_input_grad[0] else None
        d_weight, d_bias = torch.empty_like(weight), torch.empty_like(bias)
        _core.batch_norm_backward(
            ctx.sizes,
            weight.data_ptr(),
            bias.data_ptr(),
            ctx.eps,
            ctx.relu,
            x.data_ptr(),
            dy.data_ptr(),
            mean.data_ptr(),
            variance.data_ptr(),
            0 if dx is None else dx.data_ptr(),
            d_weight.data_ptr(),
            d_bias.data_ptr(),
            torch.get_num_threads(),
        )
        return dx, d_weight, d_bias, None, None


def fuse_batch_norm(model: nn.Module) -> nn.Module:
    """Replaces every nn.BatchNorm2d itself (no subclasses) by BatchNorm2d, in place, and returns
    the model. An nn.ReLU right behind it in an nn.Sequential is taken in, and an nn.Identity left
    in its place, so that names do not change; parameters and buffers stay the same objects."""
    for parent in list(model.modules()):
        children = list(parent._modules.items())
        for (name, child), following in zip(children, [*children[1:], ("", None)]):
            if type(child) is nn.BatchNorm2d:
                relu = type(parent) is nn.Sequential and type(following[1]) is nn.ReLU
                parent._modules[name] = BatchNorm2d.from_module(child, relu=relu)
                if relu:
                    parent._modules[following[0]] = nn.Identity()
    return BatchNorm2d.from_module(model) if type(model) is nn.BatchNorm2d else model
