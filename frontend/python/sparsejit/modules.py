"""SparseModule: what SparseLinear and SparseConv2d share, the stored weights and their mask.

    values      nn.Parameter (nnz,), the stored weights in row-major order: weight[mask]
    mask_bits   buffer of uint8, the mask of weight_shape as packed bits (masks.py)
    bias        nn.Parameter (out,) or None

The mask is data of its own: a stored weight that happens to be 0.0 stays stored. It changes
through `set_mask` and `load_state_dict` only; both generate code again. Copies and pickles carry
values and mask, never code.

While its sparsity is under `dense_below`, a layer scatters its values into a dense weight and runs
PyTorch's own operator: what gradual pruning starts with, and what is faster with few zeros.
"""

import math
from typing import Optional

from . import _core, masks
from ._torch import torch
from .activations import check_float32, check_input
from .kernel import ConvNumbers, Kernel
from .mask_change import MaskChange
from .ops import sparse_layer
from .options import CompileOptions

nn = torch.nn


class SparseModule(nn.Module):
    """Subclasses say what a dense layer of the kind does: `_dense_operator(x, weight)` and
    `dense_weight_gradient(x, dy)`."""

    weight_shape: tuple[int, ...]
    relu: bool
    compile_options: CompileOptions = CompileOptions()
    dense_below: float = 0.0
    values: nn.Parameter
    bias: Optional[nn.Parameter]
    mask_bits: torch.Tensor

    def _create(self, mask: _core.Mask, bias: bool, relu: bool, options: CompileOptions) -> None:
        """The subclass has set weight_shape and what `_make_kernel` reads."""
        self.relu = bool(relu)
        self.compile_options = options
        self.register_buffer("mask_bits", mask.packed())
        self.values = nn.Parameter(torch.empty(mask.nnz))
        self.bias = nn.Parameter(torch.empty(self.weight_shape[0])) if bias else None
        self._kernel = self._make_kernel(mask)
        self._positions: Optional[torch.Tensor] = None
        self.reset_parameters()

    def _make_kernel(self, mask: _core.Mask) -> Kernel:
        return Kernel(
            mask,
            self.weight_shape,
            self._conv_numbers(),
            self.relu,
            self._makes_feature_major(),
            self.compile_options,
        )

    def _makes_feature_major(self) -> bool:
        return True

    def _conv_numbers(self) -> Optional[ConvNumbers]:
        return None

    def reset_parameters(self) -> None:
        """Draws values and bias as PyTorch's dense layer does."""
        bound = 1 / math.sqrt(math.prod(self.weight_shape[1:]))
        for parameter in (self.values, self.bias):
            if parameter is not None:
                nn.init.uniform_(parameter, -bound, bound)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.runs_dense:
            return self._forward_dense(x)
        return sparse_layer(x, self.values, self.bias, self._kernel)

    @property
    def runs_dense(self) -> bool:
        return self.dense_below > 0 and self.sparsity < self.dense_below

    def _forward_dense(self, x: torch.Tensor) -> torch.Tensor:
        check_input(self._kernel, x)
        check_float32(self.values, "values")
        weight = torch.zeros(math.prod(self.weight_shape))
        weight = weight.index_put((self._stored_positions(),), self.values)
        y = self._dense_operator(x, weight.view(self.weight_shape))
        return torch.relu(y) if self.relu else y

    def _stored_positions(self) -> torch.Tensor:
        """Row-major positions of the values, int64; kept until the mask changes."""
        if self._positions is None:
            self._positions = self.mask.flatten().nonzero().squeeze(1)
        return self._positions

    @property
    def nnz(self) -> int:
        return self.values.numel()

    @property
    def sparsity(self) -> float:
        """The share of weights that are not stored."""
        return 1 - self.nnz / math.prod(self.weight_shape)

    @property
    def mask(self) -> torch.Tensor:
        """The mask as a new bool tensor of weight_shape."""
        return masks.dense_mask(self._kernel.mask, self.weight_shape)

    @property
    def mask_hash(self) -> str:
        """Of the mask's content: equal for equal masks, on every machine."""
        return self._kernel.mask.hash

    def dense(self, values: Optional[torch.Tensor] = None) -> torch.Tensor:
        """`values` (nnz entries; those of the layer if None) as a tensor of weight_shape with
        zeros elsewhere."""
        values = self.values.detach() if values is None else values
        return values.new_zeros(self.weight_shape).masked_scatter_(self.mask, values)

    @torch.no_grad()
    def copy_to_dense(self, dense: nn.Module) -> None:
        """Weight and bias of a dense layer of the same shape, and whether they train."""
        dense.weight.copy_(self.dense())
        dense.weight.requires_grad_(self.values.requires_grad)
        if self.bias is not None:
            dense.bias.copy_(self.bias)
            dense.bias.requires_grad_(self.bias.requires_grad)
        dense.train(self.training)

    def explain(self) -> str:
        """Which engine runs each pass for each shape met so far, and why."""
        return self._kernel.layer.explain()

    def report(self) -> list[dict]:
        """The same as data; times in seconds, 0 where nothing was measured."""
        return self._kernel.layer.report()

    @torch.no_grad()
    def set_mask(self, mask: torch.Tensor, fresh: float = 0.0) -> MaskChange:
        """Replaces the mask by `mask` (weight_shape, nonzero = stored). Values that stay stored
        keep their number, new ones start at `fresh`. `values` stays the same Parameter with other
        data, its gradient moves along; of an optimizer's state, see move_optimizer_state."""
        change = MaskChange.from_core(self._kernel.set_mask(masks.as_mask(mask, self.weight_shape)))
        if change.changed:
            gradient = self.values.grad
            self._replace_values(change.move(self.values.detach(), fresh))
            if gradient is not None:
                self.values.grad = change.move(gradient)
        return change

    def _replace_values(self, values: torch.Tensor) -> None:
        self.mask_bits = self._kernel.mask.packed()
        self._positions = None
        self.values.grad = None
        if values.shape == self.values.shape:
            self.values.data.copy_(values)  # keeps what DistributedDataParallel has hooked
            return
        # A graph of the step before may hold the parameter's gradient accumulator, which checks
        # for the old length. Assigning data of another type makes autograd drop it.
        self.values.data = torch.empty(0, dtype=torch.float64)
        self.values.data = values

    def _load_from_state_dict(self, state, prefix, metadata, strict, missing, unexpected, errors):
        bits, values = state.get(prefix + "mask_bits"), state.get(prefix + "values")
        if bits is not None and values is not None:
            try:
                self._load_mask(bits, values)
            except ValueError as error:
                errors.append(f"{prefix}mask_bits: {error}")
                return
        super()._load_from_state_dict(state, prefix, metadata, strict, missing, unexpected, errors)

    def _load_mask(self, bits: torch.Tensor, values: torch.Tensor) -> None:
        if bits.dtype != torch.uint8 or bits.dim() != 1:
            raise ValueError(f"{bits.dtype} of {bits.dim()} dimensions, expected bytes of one")
        mask = _core.Mask.from_packed(bits.contiguous(), list(self.weight_shape))
        if mask.nnz != values.numel():
            raise ValueError(f"stores {mask.nnz} weights, but there are {values.numel()} values")
        if mask != self._kernel.mask:
            self._kernel.set_mask(mask)
            self._replace_values(torch.zeros(mask.nnz))

    def __getstate__(self) -> dict:
        state = self.__dict__.copy()
        del state["_kernel"], state["_positions"]
        return state

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state)
        self._positions = None
        bits = self.mask_bits.contiguous()
        self._kernel = self._make_kernel(_core.Mask.from_packed(bits, list(self.weight_shape)))

    def _repr_of_sparse(self) -> str:
        relu = ", relu=True" if self.relu else ""
        options = "".join(
            f", {name}={value!r}" for name, value in self.compile_options.not_default().items()
        )
        return (
            f"bias={self.bias is not None}{relu}{options}, nnz={self.nnz}, "
            f"sparsity={self.sparsity:.4f}"
        )


def initial_mask(
    shape: tuple[int, ...], mask: Optional[torch.Tensor], sparsity: Optional[float]
) -> _core.Mask:
    """The mask that a constructor's arguments ask for: one of them is given."""
    if (mask is None) == (sparsity is None):
        raise ValueError(
            f"mask and sparsity: {'neither' if mask is None else 'both'}, expected one"
        )
    for extent in shape:
        if not isinstance(extent, int):
            raise TypeError(f"a weight of shape {tuple(shape)}, expected whole numbers")
        if extent < 1:
            raise ValueError(f"a weight of shape {tuple(shape)}, expected sizes of at least 1")
    return masks.as_mask(masks.random_mask(shape, sparsity) if mask is None else mask, shape)


def dense_weight_and_mask(
    module: nn.Module, mask: Optional[torch.Tensor]
) -> tuple[torch.Tensor, torch.Tensor]:
    """The weight of a dense layer and the mask to use: the one given, that of
    torch.nn.utils.prune, or the nonzeros of the weight."""
    weight = module.weight.detach()
    if mask is None:
        mask = getattr(module, "weight_mask", weight)
    return weight, mask


@torch.no_grad()
def copy_parameters(sparse: SparseModule, dense: nn.Module, weight: torch.Tensor) -> None:
    """Values, bias, and whether they train, from a dense layer."""
    for parameter, name in ((weight, "weight"), (dense.bias, "bias")):
        if parameter is not None and parameter.dtype != torch.float32:
            raise TypeError(
                f"{name}: {parameter.dtype}, expected torch.float32; cast with .float()"
            )
    trains = getattr(dense, "weight_orig", dense.weight).requires_grad
    sparse.values.copy_(weight[sparse.mask])
    sparse.values.requires_grad_(trains)
    if dense.bias is not None:
        sparse.bias.copy_(dense.bias)
        sparse.bias.requires_grad_(dense.bias.requires_grad)
    sparse.train(dense.training)
