"""sparsify: a network's dense layers become sparse ones; densify: back.

    model = sparsify(model, 0.95)                               # by magnitude, uniform
    model = sparsify(model, 0.95, method="global", exclude=["classifier"])
    model = sparsify(model, masks={"fc1": mask})                # given masks
    model = sparsify(model)                                     # masks of torch.nn.utils.prune
    print(report(model))

Layers are nn.Linear and nn.Conv2d themselves, no subclasses (owners such as
nn.MultiheadAttention read the weight of theirs). A weight that two layers share stays dense.
"""

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Optional, Union

from ._torch import torch
from .allocation import allocate
from .conv import SparseConv2d
from .linear import SparseLinear
from .masks import check_sparsity
from .modules import SparseModule
from .options import CompileOptions
from .picking import pick_by_timing

nn = torch.nn
Selection = Union[Iterable[str], Callable[[str, nn.Module], bool], None]

_SPARSE_TYPES = {nn.Linear: SparseLinear, nn.Conv2d: SparseConv2d}


def sparsify(
    model: nn.Module,
    sparsity: Optional[float] = None,
    *,
    masks: Optional[Mapping[str, torch.Tensor]] = None,
    method: str = "uniform",
    include: Selection = None,
    exclude: Selection = None,
    threshold: float = 0.8,
    layout: str = "feature_major",
    compile: str = "immediate",
    expected_calls: int = 0,
    deterministic: bool = False,
    example_input: Optional[object] = None,
) -> nn.Module:
    """Replaces layers of `model`, in place, and returns it.

    sparsity       share of weights to leave out, 0 to 1, by magnitude and `method`
    masks          instead: by layer name, tensors of the weight's shape, nonzero = stored
    method         "uniform" (first and last layer stay dense), "global", or "erk"
    include        patterns ("encoder.*") or f(name, module) that choose layers; None: all
    exclude        the same, to leave layers dense
    threshold      layers of less sparsity keep their mask but compute densely
    layout         of SparseLinear's outputs, see there
    compile, expected_calls, deterministic
                   of all layers: when machine code is made, see CompileOptions
    example_input  a batch for model(example_input): each layer is timed on what it meets there,
                   forward and backward, and computes the faster way (with compile="background"
                   the sparse way is timed as it runs then, perhaps interpreted)
    """
    options = vars(CompileOptions(compile, expected_calls, deterministic))
    layers = find_dense_layers(model, include, exclude)
    masks = _choose_masks(layers, sparsity, masks, method)
    for name, mask in masks.items():
        sparse = _to_sparse(layers[name], mask, layout, options)
        sparse.dense_below = threshold
        model = _replace(model, name, sparse)
    if example_input is not None:
        pick_by_timing(model, example_input)
    return model


def densify(model: nn.Module) -> nn.Module:
    """Replaces sparse layers by dense ones with zeros, in place, and returns the model. A fused
    ReLU becomes an nn.ReLU behind the layer."""
    for name, module in list(model.named_modules()):
        if isinstance(module, SparseModule):
            dense = module.to_dense()
            model = _replace(model, name, nn.Sequential(dense, nn.ReLU()) if module.relu else dense)
    return model


def find_dense_layers(
    model: nn.Module, include: Selection = None, exclude: Selection = None
) -> dict[str, nn.Module]:
    """The layers that can become sparse, by name, in the order of the model."""
    shared = _shared_parameters(model)
    chosen, left_out = _selector(include, True), _selector(exclude, False)
    return {
        name: module
        for name, module in model.named_modules()
        if type(module) in _SPARSE_TYPES
        and id(getattr(module, "weight_orig", module.weight)) not in shared
        and chosen(name, module)
        and not left_out(name, module)
    }


def _shared_parameters(model: nn.Module) -> set[int]:
    seen: set[int] = set()
    shared: set[int] = set()
    for module in model.modules():
        for parameter in module.parameters(recurse=False):
            (shared if id(parameter) in seen else seen).add(id(parameter))
    return shared


def _selector(selection: Selection, otherwise: bool) -> Callable[[str, nn.Module], bool]:
    if selection is None:
        return lambda name, module: otherwise
    if callable(selection):
        return selection
    if isinstance(selection, str):
        raise TypeError(
            f"include or exclude: the string {selection!r}, expected a list of patterns"
        )
    patterns = list(selection)
    return lambda name, module: any(fnmatchcase(name, pattern) for pattern in patterns)


def _choose_masks(
    layers: dict[str, nn.Module],
    sparsity: Optional[float],
    masks: Optional[Mapping[str, torch.Tensor]],
    method: str,
) -> Mapping[str, torch.Tensor]:
    if sparsity is not None and masks is not None:
        raise ValueError(f"sparsity {sparsity} and masks: both, expected one of them")
    if sparsity is not None:
        check_sparsity(sparsity)
        weights = {name: module.weight.detach() for name, module in layers.items()}
        return allocate(weights, sparsity, method)
    if masks is None:
        masks = {n: m.weight_mask for n, m in layers.items() if hasattr(m, "weight_mask")}
        if not masks:
            raise ValueError(
                "sparsify: neither sparsity nor masks, and no layer carries a mask of "
                "torch.nn.utils.prune"
            )
    for name in masks:
        if name not in layers:
            raise ValueError(f"masks: no layer {name!r}, expected one of {', '.join(layers)}")
    return masks


def _to_sparse(module: nn.Module, mask: torch.Tensor, layout: str, options: dict) -> SparseModule:
    if isinstance(module, nn.Linear):
        return SparseLinear.from_dense(module, mask, layout=layout, **options)
    return SparseConv2d.from_dense(module, mask, **options)


def _replace(model: nn.Module, name: str, module: nn.Module) -> nn.Module:
    """Wherever the model holds the module called `name`, also under other names."""
    if not name:
        return module
    old = model.get_submodule(name)
    for parent in list(model.modules()):
        for key, child in list(parent._modules.items()):
            if child is old:
                parent._modules[key] = module
    return model
