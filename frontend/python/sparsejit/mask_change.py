"""MaskChange: how the stored weights moved when a mask changed."""

from dataclasses import dataclass

from . import _core
from ._torch import torch


@dataclass(frozen=True)
class MaskChange:
    """`old_index` (int64, one entry for each new value): where that value was, or -1 if it is new.
    `compile_seconds` and `code_bytes` are of the kernels generated at once."""

    old_index: torch.Tensor
    kept: int
    added: int
    removed: int
    kernels_generated: int
    code_bytes: int
    compile_seconds: float

    @classmethod
    def from_core(cls, change: _core.MaskChange) -> "MaskChange":
        return cls(
            old_index=change.old_index(),
            kept=change.kept,
            added=change.added,
            removed=change.removed,
            kernels_generated=change.kernels_generated,
            code_bytes=change.code_bytes,
            compile_seconds=change.compile_seconds,
        )

    @property
    def changed(self) -> bool:
        return self.added != 0 or self.removed != 0

    def move(self, old: torch.Tensor, fresh: float = 0.0) -> torch.Tensor:
        """Carries a tensor of one entry for each old value over; new weights get `fresh`."""
        if self.removed + self.kept != old.numel():
            raise ValueError(
                f"move: a tensor of {old.numel()} entries, expected {self.removed + self.kept}, "
                "one for each value before the change"
            )
        new = old.new_full(self.old_index.shape, fresh)
        kept = self.old_index >= 0
        new[kept] = old[self.old_index[kept]]
        return new
