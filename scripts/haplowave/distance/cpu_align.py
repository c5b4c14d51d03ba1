"""Optimal paths on a CPU, by the same two ways as its distances: wavefronts where strings are alike, tiles where not."""

from dataclasses import dataclass

import numpy as np
import pyopencl as cl

from haplowave.distance import cigar
from haplowave.distance.alphabet import kernel, readable
from haplowave.distance.cpu_long import Meeting, shape_for, tiles_are_faster, upper_bound
from haplowave.distance.cpu_tiles import Sweep, Texts, border_bytes, ukkonen_band
from haplowave.distance.cpu_wavefront import SOURCE, Front, Wavefronts, offsets, overlap, spared
from haplowave.distance.strategies import Problem

LEAF = 800  # edits whose fronts are all kept
CUT = 32  # edits from which on a path is cut at least once
MEMORY = 1 << 28  # bytes of kept fronts at a time
BORDERS = 1 << 31  # bytes of kept borders, at most


def cpu_runs(problem: Problem) -> cigar.Runs | None:
    """One optimal path of two strings that are not empty; None where it needs more memory than BORDERS."""
    meeting = Meeting(problem)
    distance = meeting.run(give_up=lambda edits, expected: tiles_are_faster(problem, edits, expected))
    problem.notes["strategy"] = "bitparallel" if distance is None else "wfa"
    if distance is not None:
        return _wavefront_runs(problem, meeting.fronts, distance)
    del meeting  # and its copies of the strings
    return _tile_runs(problem)


def _tile_runs(problem: Problem) -> cigar.Runs | None:
    texts = Texts(problem.device, problem.a, problem.b)
    limit = upper_bound(texts, problem)
    shape = shape_for(texts, limit)
    band = ukkonen_band(texts, shape, limit)
    if int((band.high - band.low + 1).sum()) * border_bytes(texts, shape) > min(BORDERS, problem.device.max_allocation):
        return None
    sweep = Sweep(texts, shape, band, limit, keep=True)
    sweep.run()
    problem.cells += sweep.cells()
    result = cigar.runs(sweep.path())
    return result if result.edits == sweep.score() else None


@dataclass(frozen=True)
class Piece:
    """a[top : top + m] against b[left : left + n], at `edits` edits."""

    top: int
    left: int
    m: int
    n: int
    edits: int

    @property
    def large(self) -> bool:
        return self.edits > LEAF and not self.one_sided

    @property
    def one_sided(self) -> bool:
        return not self.m or not self.n


def _wavefront_runs(problem: Problem, fronts: Wavefronts, distance: int) -> cigar.Runs:
    """Cut where fronts meet until pieces are small (Marco-Sola et al. 2023), then walk back through kept fronts."""
    whole = Piece(0, 0, len(problem.a), len(problem.b), distance)
    pieces = [whole]
    if distance > CUT and not whole.one_sided:
        pieces = _cut(whole, fronts)  # where they stand: costs nothing, and halves the cells
    while any(piece.large for piece in pieces):
        pieces = [part for piece in pieces for part in (_halves(problem, piece) if piece.large else [piece])]
    kinds, matches = _leaves(problem, pieces)
    operations, counts = np.empty(2 * len(kinds), np.uint8), np.ones(2 * len(kinds), np.int64)
    operations[0::2], operations[1::2] = kinds, cigar.MATCH
    counts[0::2], counts[1::2] = kinds > 0, matches
    return cigar.runs(operations, counts)


def _halves(problem: Problem, piece: Piece) -> list[Piece]:
    a, b = problem.a[piece.top : piece.top + piece.m], problem.b[piece.left : piece.left + piece.n]
    return _cut(piece, Wavefronts(problem.device, a, b))


def _cut(piece: Piece, fronts: Wavefronts) -> list[Piece]:
    """The pieces before and after a cell where the fronts of half the edits meet."""
    before, after = -(-piece.edits // 2), piece.edits // 2
    if fronts.r[0] > before or fronts.r[1] > after:
        fronts.put(0, None)
        fronts.put(1, None)
    fronts.advance(before, after)
    row, diagonal = _meeting_point(fronts.front(0), fronts.front(1), piece.m, piece.n)
    column = row + diagonal
    return [
        Piece(piece.top, piece.left, row, column, before),
        Piece(piece.top + row, piece.left + column, piece.m - row, piece.n - column, after),
    ]


def _meeting_point(forward: Front, backward: Front, m: int, n: int) -> tuple[int, int]:
    """(row, diagonal) of a furthest forward cell that the backward front covers too."""
    low, ahead, behind = overlap(forward, backward, m, n)
    meeting = np.flatnonzero((ahead >= 0) & (behind >= 0) & (ahead.astype(np.int64) + behind >= m))
    if not len(meeting):
        raise RuntimeError(f"wavefronts of {forward.r} and {backward.r} edits do not meet")
    return int(ahead[meeting[0]]), low + int(meeting[0])


def _leaves(problem: Problem, pieces: list[Piece]) -> tuple[np.ndarray, np.ndarray]:
    """Kind of every edit and the matches after it, edit 0 of each piece (kind 0) with the matches before its first."""
    texts = [readable(problem.device, spared(text)) for text in (problem.a, problem.b)]
    size = np.cumsum([0 if piece.one_sided else 4 * (piece.edits + 1) * (piece.edits + 5) for piece in pieces])
    kinds, matches = [], []
    for group in np.unique(size // MEMORY):
        part = [pieces[index] for index in np.flatnonzero(size // MEMORY == group)]
        traced = iter(_trail(problem, texts, [piece for piece in part if not piece.one_sided]))
        for piece in part:
            if piece.one_sided:
                kinds.append(np.array([0] + [2 if piece.m else 3] * piece.edits, np.uint8))
                matches.append(np.zeros(piece.edits + 1, np.int32))
            else:
                found = next(traced)
                kinds.append(found[0])
                matches.append(found[1])
    return np.concatenate(kinds), np.concatenate(matches)


def _trail(problem: Problem, texts: list[cl.Buffer], pieces: list[Piece]) -> list[tuple[np.ndarray, np.ndarray]]:
    if not pieces:
        return []
    device, (kind, names) = problem.device, offsets(max(len(problem.a), len(problem.b)))
    edits = np.array([piece.edits for piece in pieces], np.int32)
    fields = np.array([(piece.top, piece.left, piece.m, piece.n) for piece in pieces], np.int64)
    steps = edits.astype(np.int64)
    begins = [np.concatenate([[0], np.cumsum(size)]) for size in ((steps + 1) * (steps + 5), 2 * steps + 32, steps + 1)]
    front, spare, out = (int(begin[-1]) for begin in begins)
    sizes = (front * np.dtype(kind).itemsize, spare, out, 4 * out)
    fronts, more, kinds, matches = (cl.Buffer(device.context, cl.mem_flags.READ_WRITE, max(16, size)) for size in sizes)
    inputs = [readable(device, array) for array in (fields, edits, *begins)]
    trail = kernel(device.build(SOURCE, names), "trail")
    trail(device.queue, (len(pieces),), (1,), *texts, *inputs[:2], fronts, inputs[2], more, inputs[3], kinds, matches, inputs[4])
    host = np.empty(out, np.uint8), np.empty(out, np.int32)
    for array, buffer in zip(host, (kinds, matches), strict=True):
        cl.enqueue_copy(device.queue, array, buffer)
    problem.cells += int(((steps + 1) ** 2).sum())
    cuts = begins[2][1:-1]
    return list(zip(np.split(host[0], cuts), np.split(host[1], cuts), strict=True))
