"""Types of the extension, which src/bind_*.cc defines; tests/python/test_stub.py compares the two.

Not public: the package wraps these. Addresses are those of `torch.Tensor.data_ptr()`, 0 where a
tensor is absent; shapes and strides have two entries for a linear layer and four for a convolution.
"""

from collections.abc import Sequence
from typing import Any, Optional

import torch

class Mask:
    """Immutable; equal masks have equal hashes."""

    @staticmethod
    def from_dense(dense: torch.Tensor, shape: Sequence[int]) -> Mask:
        """`dense`: uint8 (positions,), nonzero = stored. `shape`: (out, in) or (out, in / groups,
        kernel h, kernel w)."""

    @staticmethod
    def from_packed(bits: torch.Tensor, shape: Sequence[int]) -> Mask:
        """`bits`: uint8, eight positions to a byte, lowest bit first."""

    @staticmethod
    def random(shape: Sequence[int], sparsity: float, seed: int) -> Mask: ...
    def packed(self) -> torch.Tensor: ...
    def dense(self) -> torch.Tensor: ...
    @property
    def nnz(self) -> int: ...
    @property
    def hash(self) -> str: ...
    def __eq__(self, arg: object, /) -> bool: ...

class MaskChange:
    """How values moved. See MaskChange in runtime/include/sparsejit/layer.h."""

    def old_index(self) -> torch.Tensor:
        """int64, for each new value its old index or -1."""

    @property
    def kept(self) -> int: ...
    @property
    def added(self) -> int: ...
    @property
    def removed(self) -> int: ...
    @property
    def kernels_generated(self) -> int: ...
    @property
    def kernels_reused(self) -> int: ...
    @property
    def code_bytes(self) -> int: ...
    @property
    def compile_seconds(self) -> float: ...

class Runtime:
    def __init__(self, threads: int) -> None: ...
    def stats(self) -> dict[str, Any]: ...
    def machine(self) -> dict[str, Any]: ...
    def executable_memory_problem(self) -> str:
        """Empty where code can be generated."""

class Layer:
    def __init__(
        self,
        mask: Mask,
        conv: Optional[Sequence[int]],
        relu: bool,
        background: bool,
        expected_calls: int,
        deterministic: bool,
        runtime: Runtime,
    ) -> None: ...
    def run_forward(
        self,
        x: int,
        x_shape: tuple[int, ...],
        x_strides: tuple[int, ...],
        values: int,
        nnz: int,
        bias: int,
        bias_length: int,
        y: int,
        y_shape: tuple[int, ...],
        y_strides: tuple[int, ...],
        /,
    ) -> None: ...
    def run_backward(
        self,
        x: int,
        x_shape: tuple[int, ...],
        x_strides: tuple[int, ...],
        dy: int,
        dy_shape: tuple[int, ...],
        dy_strides: tuple[int, ...],
        values: int,
        nnz: int,
        dx: int,
        dx_strides: tuple[int, ...],
        d_values: int,
        d_bias: int,
        bias_length: int,
        y: int,
        y_strides: tuple[int, ...],
        /,
    ) -> None: ...
    def set_mask(self, mask: Mask, /) -> MaskChange: ...
    def report(self) -> list[dict[str, Any]]: ...
    def explain(self) -> str: ...

def batch_norm_forward(
    sizes: Sequence[int],
    weight: int,
    bias: int,
    epsilon: float,
    relu: bool,
    x: int,
    y: int,
    mean: int,
    variance: int,
    threads: int,
    /,
) -> None: ...
def batch_norm_backward(
    sizes: Sequence[int],
    weight: int,
    bias: int,
    epsilon: float,
    relu: bool,
    x: int,
    dy: int,
    mean: int,
    variance: int,
    dx: int,
    d_weight: int,
    d_bias: int,
    threads: int,
    /,
) -> None: ...
def compare_masks(old_mask: Mask, new_mask: Mask, /) -> MaskChange: ...
def stream_pitch(length: int) -> int:
    """Distance between features, in floats, that suits streams of `length`."""
