"""Schedule: at which steps masks change.

Update u of `updates` happens when `first + u * interval` optimizer steps are done:

    first 2, interval 3, updates 3:   steps done  1 2 3 4 5 6 7 8 9
                                      update        0     1     2
"""

from dataclasses import dataclass
from typing import Optional

_DEFAULT_INTERVALS = 10


@dataclass(frozen=True)
class Schedule:
    first: int
    interval: int = 1
    updates: int = 1

    def due(self, steps_done: int) -> Optional[int]:
        """The number of the update that is due once `steps_done` steps are done, if any."""
        distance = steps_done - self.first
        if distance < 0 or distance % self.interval != 0:
            return None
        update = distance // self.interval
        return update if update < self.updates else None


def plan_schedule(
    total_steps: int,
    first: Optional[int] = None,
    end: Optional[int] = None,
    interval: Optional[int] = None,
) -> Schedule:
    """Fills in what is left open for a run of `total_steps`: updates from a tenth to three
    quarters of the run, in about ten intervals. An end beyond the run is the end of the run, so
    that the last update is one that happens."""
    for name, value in (("total_steps", total_steps), ("first", first), ("interval", interval)):
        if value is not None and value < 1:
            raise ValueError(f"{name}: {value}, expected at least 1")
    first = max(1, total_steps // 10) if first is None else first
    if first > total_steps:
        raise ValueError(f"first: {first}, expected at most the {total_steps} steps of the run")
    end = max(first, total_steps * 3 // 4) if end is None else end
    if end < first:
        raise ValueError(f"end: {end}, expected at least {first}, where updates start")
    length = min(end, total_steps) - first
    interval = max(1, length // _DEFAULT_INTERVALS) if interval is None else interval
    return Schedule(first, interval, length // interval + 1)
