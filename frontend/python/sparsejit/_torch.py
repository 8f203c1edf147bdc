"""The one place that imports PyTorch, so that its absence is explained once."""

try:
    import torch
except ImportError as error:
    raise ImportError(
        "sparsejit's layers need PyTorch, which cannot be imported here; install it with "
        "`pip install torch` (the CPU build is enough)"
    ) from error

__all__ = ["torch"]
