"""Active regions: where reads differ from the reference often enough that a variant may be the reason.

A region is decided by the reads that overlap it and its surroundings alone. It belongs to the interval in which it
starts, so any way of cutting the genome into intervals gives the same regions.
"""

import functools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pysam

from haplowave.calling.aligned_read import AlignedRead, BaseRules, Event, parse
from haplowave.io.alignments import fetch_reads, why_dropped
from haplowave.io.reference import Reference
from haplowave.options import RegionOptions

_BLOCK = 100_000
_MARGIN = 1_000
_MAX_REPEAT = 300
_MAX_EVENT = 300
_CLIP_REACH = 20
_MIN_CLIPS = 3
_MIN_PADDING = 15


@dataclass(frozen=True)
class Region:
    """0-based half-open [start, end) of `contig`; `why`: comma-separated reasons in alphabetical order.

    [padded_start, padded_end) is what reads and haplotypes keep of the surroundings: it stops short of the neighbours,
    whose events no haplotype of this region carries.
    """

    contig: str
    start: int
    end: int
    padded_start: int
    padded_end: int
    why: str


@dataclass
class SampleSource:
    """The open files of one sample. `files`: (path, pysam.AlignmentFile)."""

    name: str
    ploidy: int
    platform: str
    files: list[tuple[str, object]]


@dataclass
class Evidence:
    """What one sample shows in a window: how many reads carry each event or clip, and the depth."""

    start: int
    depth_steps: np.ndarray
    events: Counter[Event] = field(default_factory=Counter)
    clips: Counter[int] = field(default_factory=Counter)

    def cover(self, start: int, end: int) -> None:
        """Count the depth of one read."""
        last = len(self.depth_steps) - 1
        self.depth_steps[min(max(start - self.start, 0), last)] += 1
        self.depth_steps[min(max(end - self.start, 0), last)] -= 1

    def add(self, read: AlignedRead, min_clip_length: int) -> None:
        """Count one read with its events and clips."""
        self.cover(read.start, read.end)
        self.events.update(read.events)
        left = min(read.clip_left, read.clip_left - read.usable_start)
        right = min(read.clip_right, read.usable_end - (read.length - read.clip_right))
        if left >= min_clip_length:
            self.clips[read.start] += 1
        if right >= min_clip_length:
            self.clips[read.end] += 1


@dataclass
class Scanner:
    """What regions are found in, and by which rules.

    `counts[sample]` counts the records that start in a scanned interval by the reason they were dropped or 'passed'.
    """

    samples: list[SampleSource]
    reference: Reference
    options: RegionOptions
    rules: BaseRules
    counts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))


def find_regions(scanner: Scanner, contig: str, start: int, end: int) -> Iterator[Region]:
    """Regions of `contig` that start inside [start, end), in order. Memory is bounded by a window, not by the interval."""
    for block_start in range(start, end, _BLOCK):
        block_end = min(end, block_start + _BLOCK)
        yield from _block_regions(scanner, contig, block_start, block_end)


def _block_regions(scanner: Scanner, contig: str, start: int, end: int) -> list[Region]:
    """Regions that start in the block; the margin grows until no cluster of signals can reach past the window."""
    left = right = _MARGIN
    options = scanner.options
    length = scanner.reference.contigs[contig]
    # A signal outside of the window may reach into it by its whole extent.
    unseen = options.merge_distance + _MAX_REPEAT + _MAX_EVENT
    while True:
        window = Window(contig, max(0, start - left), min(length, end + right), start, end)
        seen = {sample.name: Counter() for sample in scanner.samples}
        evidence = {sample.name: _collect(sample, scanner, window, seen[sample.name]) for sample in scanner.samples}
        clusters = _cluster(_signals(scanner, evidence, window), options.merge_distance)
        reach_left = window.start > 0 and any(low - window.start <= unseen and high >= start for low, high, _ in clusters)
        reach_right = window.end < length and any(window.end - high <= options.merge_distance and low < end for low, high, _ in clusters)
        if not (reach_left or reach_right):
            break
        left, right = (left * 2 if reach_left else left), (right * 2 if reach_right else right)
    for name, counter in seen.items():
        scanner.counts[name].update(counter)
    bounds = [bound for cluster in clusters for bound in _split(cluster, options.max_region_length)]
    return [region for region in _pad(contig, bounds, length, options) if start <= region.start < end]


@dataclass(frozen=True)
class Window:
    """[start, end) of `contig` is looked at, to find the regions that start in [block_start, block_end)."""

    contig: str
    start: int
    end: int
    block_start: int
    block_end: int


def _is_reference(record: pysam.AlignedSegment, bases: Callable[[int, int], np.ndarray]) -> bool:
    """Whether a read has qualities and simply equals the reference: most short reads do, and need no parsing."""
    if len(record.cigartuples) != 1 or record.query_qualities is None:
        return False
    return record.query_sequence.encode("ascii") == bases(record.reference_start, record.reference_end).tobytes()


def _collect(sample: SampleSource, scanner: Scanner, window: Window, seen: Counter[str]) -> Evidence:
    evidence = Evidence(window.start, np.zeros(window.end - window.start + 1, np.int64))
    bases = functools.partial(scanner.reference.array, window.contig)
    for path, file in sample.files:
        for record in fetch_reads(file, window.contig, window.start, window.end):
            reason = why_dropped(record, scanner.options.min_mapping_quality)
            if window.block_start <= record.reference_start < window.block_end:
                seen[reason] += 1
            if reason != "passed":
                continue
            if _is_reference(record, bases):
                evidence.cover(record.reference_start, record.reference_end)
            else:
                evidence.add(parse(record, path, bases, scanner.rules), scanner.options.min_clip_length)
    return evidence


Signal = tuple[int, int, str]
"""(start, end, reason): the stretch of reference that a frequent event may touch."""

Cluster = tuple[int, int, list[Signal]]
"""(start, end, members): signals that are closer together than the merge distance."""


def _signals(scanner: Scanner, evidence: dict[str, Evidence], window: Window) -> list[Signal]:
    context = scanner.reference.array(window.contig, window.start, window.end + _MAX_EVENT + _MAX_REPEAT + 1)
    found: set[Signal] = set()
    for sample in scanner.samples:
        shown = evidence[sample.name]
        depth = np.cumsum(shown.depth_steps)
        found.update(_event_signals(shown, depth, context, window, sample.ploidy, scanner.options))
        found.update(_clip_signals(shown, depth, window, sample.ploidy, scanner.options))
    return sorted(found)


def _event_signals(
    shown: Evidence, depth: np.ndarray, context: np.ndarray, window: Window, ploidy: int, options: RegionOptions
) -> Iterator[Signal]:
    for event, count in shown.events.items():
        if not window.start <= event[0] < window.end or len(event[1]) > _MAX_EVENT:
            continue
        if is_frequent(event, count, int(depth[event[0] - window.start]), ploidy, options):
            yield event_extent(event, context, window.start)


def _clip_signals(shown: Evidence, depth: np.ndarray, window: Window, ploidy: int, options: RegionOptions) -> Iterator[Signal]:
    least = max(_MIN_CLIPS, options.min_alternative_count)
    for position, count in shown.clips.items():
        if not window.start <= position < window.end:
            continue
        at = position - window.start
        near = int(depth[max(0, at - 1) : at + 1].max())
        if count >= threshold(near, options.min_indel_fraction, least, ploidy):
            yield max(0, position - _CLIP_REACH), position + _CLIP_REACH, "clip"


def threshold(depth: int, fraction: float, count: int, ploidy: int) -> int:
    """The number of reads that makes an event a candidate at `depth`."""
    return max(count, int(np.ceil(depth * fraction * min(1.0, 2 / ploidy))))


def is_frequent(event: Event, count: int, depth: int, ploidy: int, options: RegionOptions) -> bool:
    """Whether `count` of `depth` reads make `event` a candidate."""
    fraction = options.min_alternative_fraction if len(event[1]) == len(event[2]) else options.min_indel_fraction
    return count >= threshold(depth, fraction, options.min_alternative_count, ploidy)


def event_extent(event: Event, context: np.ndarray, context_start: int) -> Signal:
    """The stretch in which the event could equally be written: an indel with the whole repeat that it lies in."""
    position, ref, alt = event
    if len(ref) == len(alt):
        return position, position + len(ref), "mismatch"
    at = position + 1 - context_start
    if len(ref) > len(alt):
        unit, reason = len(ref) - len(alt), "deletion"
        tail = at + unit
        text = context[at:tail]
    else:
        text, reason, tail = np.frombuffer(alt[1:].encode("ascii"), np.uint8), "insertion", at
    shift = 0
    while shift < _MAX_REPEAT and tail + shift < len(context) and context[tail + shift] == text[shift % len(text)]:
        shift += 1
    return position, context_start + tail + shift + 1, reason


def _cluster(signals: Iterable[Signal], distance: int) -> list[Cluster]:
    clusters: list[Cluster] = []
    for signal in signals:
        if clusters and signal[0] - clusters[-1][1] < distance:
            low, high, members = clusters[-1]
            members.append(signal)
            clusters[-1] = (low, max(high, signal[1]), members)
        else:
            clusters.append((signal[0], signal[1], [signal]))
    return clusters


def _split(cluster: Cluster, longest: int) -> list[tuple[int, int, str]]:
    """(start, end, why) of the regions of one cluster: one that is too long is cut at its widest gap, again and again."""
    low, high, members = cluster
    cut = _widest_gap(members) if high - low > longest else None
    if cut is None:
        return [(low, high, ",".join(sorted({reason for _, _, reason in members})))]
    halves = [member for member in members if member[0] < cut], [member for member in members if member[0] >= cut]
    return [part for half in halves for part in _split((half[0][0], max(member[1] for member in half), half), longest)]


def _widest_gap(members: list[Signal]) -> int | None:
    """The start of the signal behind the widest gap, or None where the signals overlap without a gap."""
    best, cut, reach = 0, None, members[0][1]
    for signal in members[1:]:
        gap = signal[0] - reach
        if gap > best:
            best, cut = gap, signal[0]
        reach = max(reach, signal[1])
    return cut


def _pad(contig: str, bounds: list[tuple[int, int, str]], length: int, options: RegionOptions) -> list[Region]:
    """Regions with their surroundings: `padding` on each side, less where a neighbour is nearer, but never below a floor."""
    regions = []
    for index, (start, end, why) in enumerate(bounds):
        left = max(start - options.padding, bounds[index - 1][1]) if index else start - options.padding
        right = min(end + options.padding, bounds[index + 1][0]) if index + 1 < len(bounds) else end + options.padding
        left, right = min(left, start - _MIN_PADDING), max(right, end + _MIN_PADDING)
        regions.append(Region(contig, start, min(end, length), max(0, left), min(length, right), why))
    return regions
