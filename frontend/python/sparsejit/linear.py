"""SparseLinear: nn.Linear over the stored weights."""

from typing import Optional

from ._torch import torch
from .modules import (
    SparseModule,
    copy_parameters,
    dense_weight_and_mask,
    initial_mask,
)
from .options import CompileOptions

nn = torch.nn
LAYOUTS = ("feature_major", "row_major")


class SparseLinear(SparseModule):
    """y = x W^T + bias, with W (out_features, in_features) stored where `mask` is nonzero, or at
    random with `sparsity` from 0 to 1. x (..., in_features), y (..., out_features), float32.

    relu    y = max(0, ...), computed in the kernel
    layout  memory of y: "feature_major", strides (1, pitch) over a batch, which the next sparse
            layer and elementwise operators use as it is; or "row_major", as nn.Linear's
    compile, expected_calls, deterministic
            when machine code is made and how engines are chosen, see CompileOptions

    A weight that is not stored does not touch its input: a NaN there reaches stored weights only.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        *,
        mask: Optional[torch.Tensor] = None,
        sparsity: Optional[float] = None,
        relu: bool = False,
        layout: str = "feature_major",
        compile: str = "immediate",
        expected_calls: int = 0,
        deterministic: bool = False,
    ):
        super().__init__()
        if layout not in LAYOUTS:
            raise ValueError(f"layout: {layout!r}, expected one of {', '.join(LAYOUTS)}")
        self.in_features = in_features
        self.out_features = out_features
        self.weight_shape = (out_features, in_features)
        self.layout = layout
        options = CompileOptions(compile, expected_calls, deterministic)
        self._create(initial_mask(self.weight_shape, mask, sparsity), bias, relu, options)

    def _makes_feature_major(self) -> bool:
        return self.layout == "feature_major"

    def _dense_operator(self, x, weight):
        return nn.functional.linear(x, weight, self.bias)

    def dense_weight_gradient(self, x, dy):
        """Of every weight, stored or not: dy^T x, summed over all leading axes."""
        return dy.reshape(-1, self.out_features).t() @ x.reshape(-1, self.in_features)

    @classmethod
    def from_dense(
        cls,
        module: nn.Linear,
        mask: Optional[torch.Tensor] = None,
        *,
        relu: bool = False,
        layout: str = "feature_major",
        compile: str = "immediate",
        expected_calls: int = 0,
        deterministic: bool = False,
    ) -> "SparseLinear":
        """The same layer with only the weights of `mask` (out, in); without one, of the mask that
        torch.nn.utils.prune put on it, or else those that are not 0."""
        if not isinstance(module, nn.Linear):
            raise TypeError(f"from_dense: {type(module).__name__}, expected nn.Linear")
        weight, mask = dense_weight_and_mask(module, mask)
        sparse = cls(
            module.in_features,
            module.out_features,
            module.bias is not None,
            mask=mask,
            relu=relu,
            layout=layout,
            compile=compile,
            expected_calls=expected_calls,
            deterministic=deterministic,
        )
        copy_parameters(sparse, module, weight)
        return sparse

    def to_dense(self) -> nn.Linear:
        """An nn.Linear with zeros for what is not stored; ReLU is not part of it."""
        dense = nn.Linear(self.in_features, self.out_features, self.bias is not None)
        self.copy_to_dense(dense)
        return dense

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"{self._repr_of_sparse()}"
        )
