"""report: one line for each sparse layer of a model."""

from ._torch import torch
from .modules import SparseModule


def _engines(module: SparseModule) -> str:
    if module.runs_dense:
        return "dense"
    engines = [f"{entry['pass']} {entry['engine']}" for entry in module.report()]
    return ", ".join(engines) if engines else "not run yet"


def report(model: torch.nn.Module) -> str:
    """A table: name, shape of the weight, stored weights, sparsity, what computes each pass."""
    rows = [("layer", "weight", "stored", "sparsity", "runs")]
    stored = positions = 0
    for name, module in model.named_modules():
        if isinstance(module, SparseModule):
            shape = "x".join(map(str, module.weight_shape))
            rows.append(
                (name, shape, str(module.nnz), f"{100 * module.sparsity:.2f}%", _engines(module))
            )
            stored += module.nnz
            positions += torch.Size(module.weight_shape).numel()
    if positions:
        rows.append(("total", "", str(stored), f"{100 * (1 - stored / positions):.2f}%", ""))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths)), row[4]]).rstrip()
        for row in rows
    )
