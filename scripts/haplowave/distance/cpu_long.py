"""Strategies for two long strings on a CPU: `wfa`, `bitparallel` and `auto`, which begins as the one and may go on as the other."""

from collections.abc import Callable

from haplowave.distance import bitparallel_tiles
from haplowave.distance.checkpoint import Checkpoint
from haplowave.distance.cpu_guide import band_around, guide_path
from haplowave.distance.cpu_tiles import Shape, Sweep, Texts, fitting, ukkonen_band
from haplowave.distance.cpu_wavefront import FIRST, Front, Wavefronts, met
from haplowave.distance.strategies import Problem, register

GUIDE_HALF = 1024  # rows on each side of the guiding path
# Seconds on one core, measured (benchmark distance_cpu); only their ratios matter, and only to `auto`.
_WAVEFRONT_CELL = 1.2e-9  # of one end, with what is computed twice
_TILE_CELL = 1 / 100e9
_SYMBOL = 8e-9
_START = 0.8e-3
SMALL = 4e8  # matrix cells that are swept sooner than a path through them is found
NEAR = 1 << 20  # cells that one core computes in about a millisecond


@register("wfa", cpu_only=True)
def wfa(problem: Problem) -> int:
    """Bidirectional wavefront: O(d²/2) cells, O(n + d) memory (Marco-Sola et al. 2021, 2023)."""
    return _trivial(problem) if not len(problem.a) or not len(problem.b) else Meeting(problem).run()


@register("bitparallel", cpu_only=True)
def bitparallel(problem: Problem) -> int:
    """Bit-parallel tiles in a band (Myers 1999, Hyyroe 2003, Ukkonen 1985): about n·d/2 cells.

    The band's limit is not doubled until it holds: a narrow pass around a guiding path gives the cost of a real alignment first, so
    that one exact pass is enough.
    """
    if not len(problem.a) or not len(problem.b):
        return _trivial(problem)
    checkpoint = Checkpoint.open(problem)
    texts = Texts(problem.device, problem.a, problem.b)
    bound = upper_bound(texts, problem) if checkpoint is None or checkpoint.bound is None else checkpoint.bound
    problem.notes["bound"] = bound
    problem.report(0.0, bound)
    limit = bound if problem.maximum is None else min(bound, problem.maximum)
    if abs(texts.n - texts.m) > limit:
        return limit + 1
    shape = shape_for(texts, limit)
    sweep = Sweep(texts, shape, ukkonen_band(texts, shape, limit), limit)
    if checkpoint is not None:
        checkpoint.restore(sweep)
    while sweep.launch < sweep.launches:
        sweep.run(sweep.launch + bitparallel_tiles.AT_ONCE)
        problem.report(sweep.launch / sweep.launches, bound)
        if checkpoint is not None:
            checkpoint.save_when_due(sweep, bound)
    problem.cells += sweep.cells()
    distance = sweep.score()
    if checkpoint is not None:
        checkpoint.remove()
    return distance if distance is not None and distance <= limit else limit + 1


@register("auto", cpu_only=True)
def auto(problem: Problem) -> int:
    """Wavefronts while they promise to finish sooner than tiles would, tiles otherwise; asked again after every stretch."""
    if not len(problem.a) or not len(problem.b):
        return _trivial(problem)
    meeting = Meeting(problem)
    distance = meeting.run(give_up=lambda edits, expected: tiles_are_faster(problem, edits, expected))
    problem.notes |= {"strategy": "wfa" if distance is not None else "bitparallel", "wavefront_edits": sum(meeting.fronts.r)}
    del meeting  # and its copies of the strings
    return bitparallel(problem) if distance is None else distance


def tiles_are_faster(problem: Problem, edits: int, expected: float) -> bool:
    """Whether the wavefronts' cells that lie ahead cost more than a whole sweep: tiles use all cores, the two ends two."""
    m, n = len(problem.a), len(problem.b)
    cores = max(1, problem.device.threads)
    ahead = ((expected / 2) ** 2 - (edits / 2) ** 2) * _WAVEFRONT_CELL * (2 / min(2, cores))
    if m * n <= SMALL:
        return ahead > m * n * _TILE_CELL / cores + _START
    tiles = (0.6 * max(m, n) * expected + 4 * GUIDE_HALF * max(m, n)) * _TILE_CELL / cores + (m + n) * _SYMBOL + 3 * _START
    return ahead > tiles


def _trivial(problem: Problem) -> int:
    distance = len(problem.a) + len(problem.b)
    return distance if problem.maximum is None else min(distance, problem.maximum + 1)


def upper_bound(texts: Texts, problem: Problem) -> int:
    """Cost of a real alignment: that inside a narrow band around the guiding path."""
    if texts.m * texts.n <= SMALL:
        return max(texts.m, texts.n)
    shape = fitting(texts, Shape(2, 1024) if texts.n < 1 << 17 else Shape(4, 2048))
    sweep = Sweep(texts, shape, band_around(texts, shape, guide_path(texts), GUIDE_HALF))
    sweep.run()
    bound = sweep.score()
    problem.cells += sweep.cells()
    return max(texts.m, texts.n) if bound is None else min(bound, max(texts.m, texts.n))


def shape_for(texts: Texts, limit: int) -> Shape:
    """Tiles for a sweep below `limit`: small ones where the band is narrow, so that there are enough for all cores."""
    return fitting(texts, Shape(2, 1024) if limit < 20_000 else Shape(4, 2048))


class Meeting:
    """Both wavefronts of a problem on their way to each other."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self.m, self.n = len(problem.a), len(problem.b)
        self.fronts = Wavefronts(problem.device, problem.a, problem.b)
        self.history: list[tuple[int, int]] = []  # edits and rows covered, after every stretch

    def run(self, give_up: Callable[[int, float], bool] | None = None) -> int | None:
        """The distance, or maximum + 1, or None where `give_up(edits so far, expected distance)` said so."""
        distance = self._run(give_up)
        self.problem.cells += self.fronts.cells
        return distance

    def _run(self, give_up: Callable[[int, float], bool] | None) -> int | None:
        maximum = self.problem.maximum
        limit = self.m + self.n if maximum is None else maximum
        known: tuple[Front | None, Front | None] = (None, None)
        edits, target = 0, FIRST
        if self.m * self.n <= SMALL:  # one core, half as far: no waiting for another before so short a sweep
            distance = self.fronts.meet(min(limit, FIRST))
            if distance is not None:
                return distance
            target = max(self.fronts.r)
        while True:
            target = min(target, -(-limit // 2))
            self.fronts.advance(target, target)
            now = self.fronts.front(0), self.fronts.front(1)
            if now[0].row(self.n - self.m) >= self.m:
                return min(now[0].r, limit + 1)
            covered = met(*now, self.m, self.n)
            if covered >= self.m:
                return min(self._first_meeting(known, edits, 2 * target), limit + 1)
            known, edits = now, 2 * target
            if edits >= limit:
                return limit + 1
            expected = self._expected(edits, *now)
            self.problem.report(min(0.99, (edits / expected) ** 2))
            if give_up is not None and give_up(edits, expected):
                return None
            if expected * expected < 4 * NEAR:
                distance = self.fronts.meet(min(limit, int(1.2 * expected) + 16))
                if distance is not None:
                    return distance
                target, known = max(self.fronts.r), (self.fronts.front(0), self.fronts.front(1))
                edits = sum(self.fronts.r)
            target = self._next_target(target, expected)

    def _expected(self, edits: int, forward: Front, backward: Front) -> float:
        """The distance if the rows ahead cost what those of the second half of the edits so far did.

        At most 8 times what they would cost at the rate of all rows so far: a long gap covers no rows, and must not look like the
        end. Where the fronts have passed each other on different diagonals, a gap lies between them: twice the edits so far.
        """
        gap = abs(self.n - self.m)
        covered = int(forward.rows.max()) + int(backward.rows.max())
        self.history.append((edits, covered))
        if covered >= self.m:
            return max(2 * edits, gap)
        half = max((past for past in self.history if past[0] <= edits / 2), default=(0, 0))
        rate = (edits - half[0]) / max(covered - half[1], 1)
        return max(gap, min(edits + (self.m - covered) * rate, 8 * edits * self.m / max(covered, 1)))

    @staticmethod
    def _next_target(target: int, expected: float) -> int:
        ahead = expected / 2 - target
        return target + max(64, target // 32, int(0.6 * ahead) if ahead < 4 * target else 2 * target)

    def _first_meeting(self, known: tuple[Front | None, Front | None], below: int, meets: int) -> int:
        """The least total of edits with which the fronts meet: they do at `meets`, and not before `below` (state `known`)."""
        while (meets - below) * meets > NEAR:
            total = (below + meets) // 2
            self._go_back(known)
            self.fronts.advance(-(-total // 2), total // 2)
            now = self.fronts.front(0), self.fronts.front(1)
            if met(*now, self.m, self.n) >= self.m:
                meets = total
            else:
                known, below = now, total
        self._go_back(known)
        distance = self.fronts.meet(meets)
        if distance is None:
            raise RuntimeError(f"wavefronts that met with {meets} edits do not meet again")
        return distance

    def _go_back(self, known: tuple[Front | None, Front | None]) -> None:
        for end in (0, 1):
            self.fronts.put(end, known[end])
