"""Where the time of a step goes, by kind of operator, from PyTorch's profiler.

Times are an operator's own, without those it calls. The profiler slows small operators down."""

from typing import Callable

from torch.profiler import ProfilerActivity, profile

# The first kind with a part of the operator's name counts.
KINDS = {
    "sparse layers": ("_SparseLayer", "sparsejit::"),
    "multiplications": ("convolution", "addmm", "::mm", "bmm", "matmul", "linear"),
    "batch norm": ("batch_norm", "_Normalize"),
    "layer norm": ("layer_norm",),
    "attention": ("attention", "softmax"),
    "ReLU, GELU": ("relu", "gelu", "threshold"),
    "pooling": ("pool",),
    "optimizer": ("Optimizer", "_foreach"),
    "add": ("aten::add",),
    "copies, fills": ("copy", "fill", "zero", "clone"),
}
_RUNS = 3


def _kind(name: str) -> str:
    for kind, parts in KINDS.items():
        if any(part in name for part in parts):
            return kind
    return "other"


def breakdown(step: Callable[[], object]) -> str:
    with profile(activities=[ProfilerActivity.CPU]) as record:
        for _ in range(_RUNS):
            step()
    seconds: dict[str, float] = {}
    for event in record.key_averages():
        kind = _kind(event.key)
        seconds[kind] = seconds.get(kind, 0.0) + event.self_cpu_time_total / 1e6 / _RUNS
    total = sum(seconds.values())
    lines = sorted(seconds.items(), key=lambda item: -item[1])
    return "\n".join(
        f"  {kind:16} {value * 1e3:9.2f} ms  {100 * value / total:5.1f}%" for kind, value in lines
    )
