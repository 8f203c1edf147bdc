"""What runs the layers: the C++ runtime, one for each number of threads, and how to look at it."""

import platform
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version

from . import _core


@lru_cache(maxsize=None)
def runtime_for(threads: int) -> _core.Runtime:
    """The process-wide runtime that executes a layer on `threads` threads."""
    return _core.Runtime(threads)


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _executable_memory(runtime: _core.Runtime) -> str:
    problem = runtime.executable_memory_problem()
    return f"no ({problem})" if problem else "yes"


def _avx512(machine: dict) -> str:
    if not machine["avx512"]:
        return "no"
    return "yes" if machine["unrolled_isa"] == "avx512" else "hidden by SPARSEJIT_ISA"


def show_config() -> str:
    """Text about versions, the machine, and whether code can be generated here."""
    runtime = runtime_for(1)
    machine = runtime.machine()
    lines = {
        "sparsejit": _installed("sparsejit"),
        "python": platform.python_version(),
        "torch": _installed("torch"),
        "cpu": machine["cpu"],
        "cores": machine["cores"],
        "AVX2 and FMA": "yes" if machine["avx2_fma"] else "no (the portable engine runs)",
        "AVX-512": _avx512(machine),
        "executable memory": _executable_memory(runtime),
        "caches": " / ".join(
            f"{machine[level] >> 10} KiB" for level in ("l1_bytes", "l2_bytes", "l3_bytes")
        ),
    }
    return "\n".join(f"{name:18} {value}" for name, value in lines.items())
