"""Kernel: what runs a sparse layer. A mask and a geometry, compiled when first used.

A kernel has a number, its handle, under which operators that PyTorch traces find it again: a
graph of torch.compile holds the number, not the object. Threads follow torch.set_num_threads: a
call under another number than before continues on the runtime of that number.
"""

from collections.abc import Sequence
from itertools import count
from typing import Optional
from weakref import WeakValueDictionary

from . import _core
from ._torch import torch
from .config import runtime_for
from .options import CompileOptions

# Of a convolution: stride h, w; padding top, bottom, left, right; dilation h, w; groups.
ConvNumbers = tuple[int, int, int, int, int, int, int, int, int]

_DEFAULTS = CompileOptions()
_handles = count(1)
_kernels: "WeakValueDictionary[int, Kernel]" = WeakValueDictionary()


def kernel_of(handle: int) -> "Kernel":
    kernel = _kernels.get(handle)
    if kernel is None:
        raise RuntimeError(f"sparsejit: layer {handle} of a compiled graph no longer exists")
    return kernel


class Kernel:
    """`shape`: of the dense weight. `conv`: None for a linear layer, whose outputs are
    `feature_major` (strides (1, pitch) of a batch x features matrix) or row-major."""

    def __init__(
        self,
        mask: _core.Mask,
        shape: Sequence[int],
        conv: Optional[ConvNumbers] = None,
        relu: bool = False,
        feature_major: bool = True,
        options: CompileOptions = _DEFAULTS,
    ):
        self.mask = mask
        self.shape = tuple(shape)
        self.conv = conv
        self.relu = relu
        self.feature_major = feature_major
        self.options = options
        self.handle = next(_handles)
        self._layer: Optional[_core.Layer] = None
        self._threads = 0
        _kernels[self.handle] = self

    @property
    def layer(self) -> _core.Layer:
        threads = torch.get_num_threads()
        if self._layer is None or threads != self._threads:
            self._layer = _core.Layer(
                self.mask,
                self.conv,
                self.relu,
                self.options.compile == "background",
                self.options.expected_calls,
                self.options.deterministic,
                runtime_for(threads),
            )
            self._threads = threads
        return self._layer

    def set_mask(self, mask: _core.Mask) -> _core.MaskChange:
        """Generates code again for what changed; tells where each value went."""
        if self._layer is None:
            change = _core.compare_masks(self.mask, mask)
        else:
            change = self._layer.set_mask(mask)
        self.mask = mask
        return change
