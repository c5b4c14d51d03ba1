"""The text forms in which PairHMM inputs are published.

Testcases (the literature's benchmark files): a line `reads haplotypes`, then a line `bases baseQ insQ delQ gcp` a read, then a line a
haplotype; repeated. Pairs (GATK's --pair-hmm-results-file): a line `haplotype read baseQ insQ delQ gcp [log10 likelihood]` a pair.
Qualities are Phred + 33. Lines that begin with # and empty lines between records are skipped. The first line tells the form.
"""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from haplowave.errors import UserError
from haplowave.sequences import Reads, Sequences

_OFFSET = 33
_FIELDS = ("bases", "base qualities", "insertion qualities", "deletion qualities", "gap-continuation penalties")


@dataclass
class TextBatch:
    """Some records: what the engines take, and how to write the answer."""

    reads: Reads
    haplotypes: Sequences
    pairs: np.ndarray
    """int64 (n, 2), in the order of the output."""
    testcases: list[tuple[int, int]]
    """(reads, haplotypes) of each testcase; empty in the form of pairs."""
    lines: list[bytes]
    """The six columns of each pair; empty in the form of testcases."""

    def format(self, log10: np.ndarray) -> str:
        """The lines of the output for `log10` (float64, parallel to `pairs`), nine significant digits."""
        values = [f"{value:.9g}" for value in log10.tolist()]
        if self.lines:
            return "".join(f"{line.decode('latin-1')} {value}\n" for line, value in zip(self.lines, values, strict=True))
        result, at = [], 0
        for reads, haplotypes in self.testcases:
            result.append(f"{reads} {haplotypes}\n")
            for _ in range(reads):
                result.append(" ".join(values[at : at + haplotypes]) + "\n")
                at += haplotypes
        return "".join(result)


@dataclass
class _Collector:
    reads: list[list[bytes]] = field(default_factory=list)
    haplotypes: list[bytes] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    testcases: list[tuple[int, int]] = field(default_factory=list)
    pairs: bool = False
    size: int = 0

    def batch(self, name: str) -> TextBatch:
        columns = list(zip(*self.reads, strict=True)) if self.reads else [()] * 5
        self._check_lengths(name, columns)
        bases = Sequences.from_list(columns[0])
        quals = [np.frombuffer(b"".join(column), np.uint8) for column in columns[1:]]
        for column, values in enumerate(quals):
            if len(values) and values.min() < _OFFSET:
                read = int(np.searchsorted(bases.offsets, int(values.argmin()), side="right")) - 1
                raise UserError(f"{name} line {self.numbers[read]}: {_FIELDS[column + 1]} hold a byte below '!' (quality 0)")
        reads = Reads(bases, *(values - np.uint8(_OFFSET) for values in quals))
        haplotypes = Sequences.from_list(self.haplotypes)
        if self.pairs:
            index = np.arange(len(self.reads))
            lines = [b" ".join((haplotype, *read)) for haplotype, read in zip(self.haplotypes, self.reads, strict=True)]
            return TextBatch(reads, haplotypes, np.stack([index, index], axis=1), [], lines)
        return TextBatch(reads, haplotypes, _all_pairs(self.testcases), self.testcases, [])

    def _check_lengths(self, name: str, columns: list[tuple[bytes, ...]]) -> None:
        lengths = [np.fromiter(map(len, column), np.int64, len(column)) for column in columns]
        for column in range(1, 5):
            wrong = np.flatnonzero(lengths[column] != lengths[0])
            if len(wrong):
                first = int(wrong[0])
                raise UserError(
                    f"{name} line {self.numbers[first]}: {lengths[0][first]} bases but {lengths[column][first]} {_FIELDS[column]}"
                )


def _all_pairs(testcases: list[tuple[int, int]]) -> np.ndarray:
    parts, read, haplotype = [np.zeros((0, 2), np.int64)], 0, 0
    for reads, haplotypes in testcases:
        index = np.indices((reads, haplotypes)).reshape(2, -1).T
        parts.append(index + np.array([read, haplotype]))
        read, haplotype = read + reads, haplotype + haplotypes
    return np.concatenate(parts)


def read_text(stream: Iterable[bytes], name: str, batch_pairs: int = 200_000, batch_bases: int = 100_000_000) -> Iterator[TextBatch]:
    """Batches of whole testcases, or of pairs, from the lines of `stream`; `name` stands for the file in messages.

    A batch ends with the record that brings it to `batch_pairs` pairs or `batch_bases` bases. Raises UserError that names the line.
    """
    numbered = ((number, line) for number, line in enumerate(stream, 1) if not line.startswith(b"#") and not line.isspace())
    head = next(numbered, None)
    if head is None:
        return
    records = itertools.chain([head], numbered)
    if len(head[1].split()) >= 6:
        yield from _pairs(records, name, batch_pairs, batch_bases)
    else:
        yield from _testcases(records, name, batch_pairs, batch_bases)


def _pairs(records: Iterator[tuple[int, bytes]], name: str, batch_pairs: int, batch_bases: int) -> Iterator[TextBatch]:
    batch = _Collector(pairs=True)
    for number, line in records:
        fields = line.split()
        if len(fields) not in (6, 7):
            raise UserError(
                f"{name} line {number}: {len(fields)} columns, expected 'haplotype read baseQ insQ delQ gcp [log10 likelihood]'"
            )
        batch.haplotypes.append(fields[0])
        batch.reads.append(fields[1:6])
        batch.numbers.append(number)
        batch.size += len(fields[0]) + len(fields[1])
        if len(batch.numbers) >= batch_pairs or batch.size >= batch_bases:
            yield batch.batch(name)
            batch = _Collector(pairs=True)
    if batch.numbers:
        yield batch.batch(name)


def _testcases(records: Iterator[tuple[int, bytes]], name: str, batch_pairs: int, batch_bases: int) -> Iterator[TextBatch]:
    batch, pairs = _Collector(), 0
    for number, line in records:
        reads, haplotypes = _header(line, name, number)
        for kind, count, columns in (("read", reads, 5), ("haplotype", haplotypes, 1)):
            taken = 0
            for at, text in itertools.islice(records, count):
                fields = text.split()
                if len(fields) != columns:
                    form = "bases baseQ insQ delQ gcp" if columns == 5 else "bases"
                    raise UserError(f"{name} line {at}: {len(fields)} columns, expected a {kind}: '{form}'")
                taken += 1
                batch.size += len(fields[0])
                if columns == 5:
                    batch.reads.append(fields)
                    batch.numbers.append(at)
                else:
                    batch.haplotypes.append(fields[0])
            if taken < count:
                raise UserError(f"{name}: ends within the testcase of line {number}: {taken} of {count} {kind} lines; the file is cut off")
        batch.testcases.append((reads, haplotypes))
        pairs += reads * haplotypes
        if pairs >= batch_pairs or batch.size >= batch_bases:
            yield batch.batch(name)
            batch, pairs = _Collector(), 0
    if batch.testcases:
        yield batch.batch(name)


def _header(line: bytes, name: str, number: int) -> tuple[int, int]:
    fields = line.split()
    if len(fields) == 2 and fields[0].isdigit() and fields[1].isdigit():
        return int(fields[0]), int(fields[1])
    shown = line.strip()[:40].decode("ascii", "replace")
    raise UserError(f"{name} line {number}: expected 'reads haplotypes' (two numbers) or a pair of six columns, found '{shown}'")
