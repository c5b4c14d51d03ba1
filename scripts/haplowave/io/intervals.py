"""Where to call: BED files, contig lists, and the chunks that they are cut into.

A chunk is a list of intervals with about `chunk_size` positions in all. Where a chunk ends never changes a call,
because an active region belongs to the chunk that holds its start.
"""

import gzip
import itertools
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from haplowave.errors import UserError

_SHOWN = 20
_NAME_LENGTH = 5


@dataclass(frozen=True, order=True)
class Interval:
    """[start, end), 0-based, on `contig`."""

    contig: str
    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start


def parse_bed(path: str | Path, contigs: Mapping[str, int]) -> tuple[list[Interval], list[str], list[str]]:
    """(intervals as they stand, errors, warnings) of a BED file, plain or gzipped: one message a bad line, naming it."""
    path = Path(path)
    intervals: list[Interval] = []
    errors: list[str] = []
    warnings: list[str] = []
    try:
        content = path.read_bytes()
        lines = (gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content).decode().splitlines()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "neither text nor gzipped text"
        return [], [f"{path}: BED file cannot be read ({reason}); correct the path"], []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#") or line.split()[0] in ("track", "browser"):
            continue
        try:
            interval = _parse_line(line, contigs)
        except ValueError as error:
            errors.append(f"{path} line {number}{error}")
            continue
        if len(interval):
            intervals.append(interval)
        else:
            warnings.append(f"{path} line {number}: {interval.contig} {interval.start} {interval.end} is empty and left out")
    if not intervals and not errors:
        warnings.append(f"{path}: holds no interval; the VCF will have no records")
    if len(errors) > _SHOWN:
        errors[_SHOWN:] = [f"{path}: {len(errors) - _SHOWN} more lines are wrong"]
    return intervals, errors, warnings


def _parse_line(line: str, contigs: Mapping[str, int]) -> Interval:
    columns = line.split("\t") if "\t" in line else line.split()
    if len(columns) < 3:
        raise ValueError(f": has {len(columns)} column(s); a BED line is contig, start, end, separated by tabs")
    contig, first, last = columns[0], columns[1].strip(), columns[2].strip()
    if contig not in contigs:
        raise ValueError(f", column 1: contig '{contig}' is not in the reference; it has {', '.join(list(contigs)[:5])}")
    for column, value in ((2, first), (3, last)):
        if not (value.isascii() and value.isdecimal()):
            raise ValueError(f", column {column}: '{value}' is not a position; give a whole number, counted from 0")
    start, end = int(first), int(last)
    if start > end:
        raise ValueError(f", columns 2-3: start {start} is after end {end}; give them in ascending order")
    if end > contigs[contig]:
        raise ValueError(f", column 3: end {end} is past the end of {contig} ({contigs[contig]}); correct it")
    return Interval(contig, start, end)


def merge(intervals: Iterable[Interval], contigs: Mapping[str, int]) -> list[Interval]:
    """Sorted in the order of `contigs`, without overlaps; those that touch become one."""
    order = {name: index for index, name in enumerate(contigs)}
    merged: list[Interval] = []
    for interval in sorted(intervals, key=lambda item: (order[item.contig], item.start, item.end)):
        if merged and merged[-1].contig == interval.contig and interval.start <= merged[-1].end:
            merged[-1] = Interval(interval.contig, merged[-1].start, max(merged[-1].end, interval.end))
        else:
            merged.append(interval)
    return merged


def target_intervals(contigs: Mapping[str, int], bed: Sequence[Interval] | None, names: Sequence[str]) -> list[Interval]:
    """Where to call: the intervals of `bed` (None: everything) on the contigs `names` (empty: all).

    Raises UserError for an unknown name.
    """
    unknown = [name for name in names if name not in contigs]
    if unknown:
        raise UserError(f"config key contigs: '{unknown[0]}' is not in the reference; it has {', '.join(list(contigs)[:5])}")
    wanted = set(names) or set(contigs)
    whole = [Interval(name, 0, length) for name, length in contigs.items()] if bed is None else bed
    return merge((interval for interval in whole if interval.contig in wanted), contigs)


def cut(intervals: Iterable[Interval], chunk_size: int) -> list[list[Interval]]:
    """Chunks of at most `chunk_size` positions, in order; at least one, which may be empty.

    A long interval is cut into equal parts; short ones share a chunk, so that thousands of small contigs are few jobs.
    """
    chunks: list[list[Interval]] = [[]]
    filled = 0
    for interval in intervals:
        for part in _parts(interval, chunk_size):
            if filled and filled + len(part) > chunk_size:
                chunks.append([])
                filled = 0
            chunks[-1].append(part)
            filled += len(part)
    return chunks


def _parts(interval: Interval, chunk_size: int) -> Iterator[Interval]:
    number = max(1, -(-len(interval) // chunk_size))
    bounds = [interval.start + len(interval) * index // number for index in range(number + 1)]
    for start, end in itertools.pairwise(bounds):
        yield Interval(interval.contig, start, end)


def chunk_names(number: int) -> list[str]:
    """Names of `number` chunks: numbers, because contig names may hold any character."""
    return [f"{index:0{_NAME_LENGTH}d}" for index in range(1, number + 1)]


def is_chunk_name(text: str) -> bool:
    """Whether `text` looks like a name of `chunk_names`."""
    return len(text) == _NAME_LENGTH and text.isdecimal()


def bed_text(intervals: Iterable[Interval]) -> str:
    """BED, three columns."""
    return "".join(f"{interval.contig}\t{interval.start}\t{interval.end}\n" for interval in intervals)
