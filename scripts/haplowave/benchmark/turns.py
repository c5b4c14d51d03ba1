"""Engines measured in turns on the same input, so that what else a machine does falls on all of them alike."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

SLOW = 3.0  # seconds from which one run is enough


@dataclass
class Timing:
    """`result`: of the last run; `seconds` and `processor` (processor time of all threads) of every run."""

    result: object = None
    seconds: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def fastest(self) -> tuple[float, float]:
        """Seconds and processor seconds of the fastest run."""
        return min(zip(self.seconds, self.processor, strict=True))

    @property
    def slow(self) -> bool:
        return bool(self.seconds) and self.seconds[-1] > SLOW


def in_turns(
    engines: Mapping[str, Callable[[], object]], rounds: int, seconds: Callable[[object], float] | None = None
) -> dict[str, Timing]:
    """Every engine `rounds` times, slow ones once, each round in another order.

    seconds: what counts of a result (default: the clock around the call).
    """
    timings = {name: Timing() for name in engines}
    names = list(engines)
    for turn in range(rounds):
        for name in (names[turn % len(names) :] + names[: turn % len(names)])[:: 1 if turn % 2 else -1]:
            engine = engines[name]
            timing = timings[name]
            if timing.slow:
                continue
            began, used = time.perf_counter(), time.process_time()
            timing.result = engine()
            taken = time.perf_counter() - began
            timing.processor.append(time.process_time() - used)
            timing.seconds.append(taken if seconds is None else seconds(timing.result))
    return timings
