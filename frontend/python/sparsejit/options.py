"""CompileOptions: when a layer makes machine code, and how it chooses between engines.

The keyword options of SparseLinear, SparseConv2d and sparsify. They are a property of the layer,
not of its weights: copies and pickles carry them, `state_dict` does not, and `load_state_dict`
leaves them as they are.
"""

import operator
from dataclasses import dataclass, fields

COMPILE_MODES = ("immediate", "background")
MOST_CALLS = 2**63 - 1


@dataclass(frozen=True)
class CompileOptions:
    """compile         "immediate": code is made when a pass first meets a shape; "background":
                    the layer runs interpreted until a thread of the lowest priority has made it
    expected_calls  of each pass before the mask changes, 0: many; code that would not pay by then
                    is not made
    deterministic   the engine is chosen by prediction, not by clocks, and stays; `compile` is
                    then "immediate"

    Results are the same bits whatever is chosen."""

    compile: str = "immediate"
    expected_calls: int = 0
    deterministic: bool = False

    def __post_init__(self):
        if self.compile not in COMPILE_MODES:
            raise ValueError(
                f"compile: {self.compile!r}, expected one of {', '.join(COMPILE_MODES)}"
            )
        if not isinstance(self.deterministic, bool):
            raise TypeError(f"deterministic: {self.deterministic!r}, expected True or False")
        try:
            calls = operator.index(self.expected_calls)
        except TypeError:
            raise TypeError(
                f"expected_calls: {self.expected_calls!r}, expected a whole number"
            ) from None
        if not 0 <= calls <= MOST_CALLS:
            raise ValueError(f"expected_calls: {calls}, expected 0 (many) up to 2^63 - 1")
        object.__setattr__(self, "expected_calls", calls)

    def not_default(self) -> dict[str, object]:
        """Those that are not the defaults, by name."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        defaults = {field.name: field.default for field in fields(self)}
        return {name: value for name, value in values.items() if value != defaults[name]}
