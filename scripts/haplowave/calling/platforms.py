"""What each sequencing technology gets wrong, as the Phred qualities that PairHMM takes.

Short reads follow GATK: flat gap-open penalties, lowered in tandem repeats by its PCR indel model. Long reads make
their indels in homopolymers; how often depends on the length of the run and on the qualities that the basecaller
gave it. Those tables were measured on public HG002 reads away from known variants (docs/calling.md has the figures
and the command).
"""

from dataclasses import dataclass

import numpy as np

from haplowave.options import ReadOptions
from haplowave.sequences import Sequences, members

_MIN_QUALITY = 6
_PCR_RATES = {"none": 0.0, "hostile": 1.0, "aggressive": 2.0, "conservative": 3.0}
_MAX_UNIT, _MAX_REPEATS = 8, 20


@dataclass(frozen=True)
class Platform:
    """`base_quality_threshold`: bases below become Q6. `keeps_clips`: whether soft-clipped bases stay in the piece.

    `run_quality`: Phred probability that a homopolymer of length 1, 2, … (last: and longer) gains or loses bases, or
    None for GATK's model. `run_drop`, `run_floor`: the same from the lowest base quality q of the run:
    max(run_floor, q * run_slope - run_drop). The lower of the two counts. `deletion_share`: of the changes in such runs,
    how many are losses.
    """

    base_quality_threshold: int
    gap_open_quality: int
    keeps_clips: bool
    assembles: bool
    run_quality: tuple[float, ...] | None = None
    run_floor: tuple[float, ...] = ()
    run_drop: tuple[float, ...] = ()
    run_slope: float = 1.0
    deletion_share: tuple[float, ...] = (0.5,)


_SHORT = Platform(base_quality_threshold=18, gap_open_quality=45, keeps_clips=True, assembles=True)
PLATFORMS: dict[str, Platform] = {
    "illumina": _SHORT,
    "10x": _SHORT,
    "hifi": Platform(
        base_quality_threshold=6,
        gap_open_quality=42,
        keeps_clips=False,
        assembles=False,
        run_quality=(39, 31, 27, 23.5, 21, 18.5, 17, 15, 14, 13, 12, 11, 10),
        run_floor=(19, 13, 12, 10.5, 10, 9, 8, 7, 6),
        run_drop=(-18, -13, -12, -10.5, -10, -9, -8, -7, -6),
        run_slope=0.5,
        deletion_share=(0.5, 0.55, 0.6, 0.65),
    ),
    "ont": Platform(
        base_quality_threshold=6,
        gap_open_quality=40,
        keeps_clips=False,
        assembles=False,
        run_quality=(40, 38, 36, 34, 31, 26, 22, 12, 10, 8, 7, 6, 5),
        run_floor=(19, 13, 10, 8.5, 7, 6.5, 6, 5, 4.5, 4, 4, 3.5, 3.5),
        run_drop=(0, 2, 5, 7, 9, 10, 11, 14, 16, 18, 20, 20, 20),
        deletion_share=(0.5, 0.5, 0.6, 0.7, 0.7, 0.7, 0.7, 0.6),
    ),
}


def gap_open_quals(bases: Sequences, quals: np.ndarray, platform: Platform, options: ReadOptions) -> tuple[np.ndarray, np.ndarray]:
    """Phred gap-open penalties of insertions and of deletions at each base of many pieces: uint8, parallel to `bases.data`."""
    flat = options.gap_open_quality if options.gap_open_quality >= 0 else platform.gap_open_quality
    if platform.run_quality is None:
        slipping = _pcr_model(bases, flat, _PCR_RATES[options.pcr_indel_model])
        return slipping, slipping
    return _run_model(bases, quals, flat, platform)


def repeat_lengths(bases: Sequences) -> np.ndarray:
    """For each base: copies of the best tandem unit (1 to 8 bases) that ends at it or begins behind it, at most 20.

    int64, parallel to `bases.data`; GATK counts the same to find where polymerases slip (PairHMMLikelihoodCalculationEngine).
    """
    # Eight unequal marks behind each sequence keep repeats from running on into the next.
    marks = np.arange(1, _MAX_UNIT + 1, dtype=np.uint8)
    where = np.arange(len(bases.data)) + np.repeat(np.arange(len(bases)) * _MAX_UNIT, bases.lengths)
    text = np.tile(marks, len(bases.data) // _MAX_UNIT + len(bases) + 1)[: len(bases.data) + len(bases) * _MAX_UNIT]
    ends = bases.offsets[1:] + np.arange(len(bases)) * _MAX_UNIT
    text[(ends[:, None] + np.arange(_MAX_UNIT)).ravel()] = np.tile(marks, len(bases))
    text[where] = bases.data
    best = np.ones(len(text), np.int64)
    for unit in range(1, min(_MAX_UNIT, len(text) - 1) + 1):
        same = text[unit:] == text[:-unit]
        edges = np.flatnonzero(np.diff(np.concatenate([[0], same.view(np.int8), [0]])))
        begins, stops = edges[::2], edges[1::2]
        long = stops - begins >= unit
        begins, stops = begins[long], stops[long]
        copies = (stops - begins) // unit + 1
        low, high = np.maximum(begins - 1, 0), stops + unit
        sizes = high - low
        np.maximum.at(best, members(low, sizes), np.repeat(copies, sizes))
    return np.minimum(best[where], _MAX_REPEATS)


def _pcr_model(bases: Sequences, flat: int, rate: float) -> np.ndarray:
    quals = np.full(len(bases.data), flat, np.uint8)
    if rate:
        slipping = np.maximum(10, np.floor(40.0 - np.exp(repeat_lengths(bases) / (rate * np.pi)) + 1.5)).astype(np.int64)
        last = quals[bases.offsets[1:] - 1]
        quals = np.minimum(quals, slipping).astype(np.uint8)
        quals[bases.offsets[1:] - 1] = last
    return quals


def _run_model(bases: Sequences, quals: np.ndarray, flat: int, platform: Platform) -> tuple[np.ndarray, np.ndarray]:
    changes = np.concatenate([[True], bases.data[1:] != bases.data[:-1]])
    changes[bases.offsets[:-1]] = True
    starts = np.flatnonzero(changes)
    lengths = np.diff(np.concatenate([starts, [len(bases.data)]]))
    lowest = np.minimum.reduceat(quals, starts).astype(np.float64)
    by_length = _look_up(platform.run_quality, lengths)
    by_quality = np.maximum(_look_up(platform.run_floor, lengths), lowest * platform.run_slope - _look_up(platform.run_drop, lengths))
    # The model opens the gap at any base of the run: the probability of the run is shared out among them.
    shared = np.minimum(by_length, by_quality) + 10 * np.log10(lengths)
    deletions = _look_up(platform.deletion_share, lengths)
    # A gap opens behind its base: the last base before a run opens the gaps of that run too.
    inside = np.ones(len(bases.data), bool)
    inside[bases.offsets[1:] - 1] = False
    before = np.flatnonzero(inside)
    result = []
    for share in (1 - deletions, deletions):
        quality = np.repeat(np.clip(np.rint(shared - 10 * np.log10(share)), 1, flat).astype(np.uint8), lengths)
        quality[before] = np.minimum(quality[before], quality[before + 1])
        result.append(quality)
    return result[0], result[1]


def _look_up(table: tuple[float, ...], lengths: np.ndarray) -> np.ndarray:
    return np.array(table)[np.minimum(lengths, len(table)) - 1]


def hmm_base_quals(quals: np.ndarray, mapq: np.ndarray, platform: Platform, options: ReadOptions) -> np.ndarray:
    """Base qualities as GATK hands them to PairHMM: capped by the mapping quality first, then what is low becomes 6.

    `quals`, `mapq`: parallel arrays, one value a base.
    """
    threshold = options.base_quality_threshold if options.base_quality_threshold >= 0 else platform.base_quality_threshold
    capped = np.minimum(quals, np.minimum(mapq, options.max_base_quality))
    return np.where(capped < max(threshold, _MIN_QUALITY), _MIN_QUALITY, capped).astype(np.uint8)
