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
    columns: tuple[list[bytes], list[bytes]]
    """In the form of pairs, the text of each haplotype, and of each read with its qualities; otherwise empty."""

    def format(self, log10: np.ndarray) -> str:
        """The lines of the output for `log10` (float64, parallel to `pairs`), nine significant digits."""
        values = [f"{value:.9g}" for value in log10.tolist()]
        if self.columns[0]:
            haplotypes, reads = ([text.decode("latin-1") for text in column] for column in self.columns)
            rows = zip(self.pairs.tolist(), values, strict=True)
            return "".join([f"{haplotypes[haplotype]} {reads[read]} {value}\n" for (read, haplotype), value in rows])
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
    """Line of each read."""
    testcases: list[tuple[int, int]] = field(default_factory=list)
    size: int = 0

    def batch(self, name: str) -> TextBatch:
        """What was collected; the pairs are those of the testcases."""
        columns = list(zip(*self.reads, strict=True)) if self.reads else [()] * 5
        self._check_lengths(name, columns)
        bases = Sequences.from_list(columns[0])
        quals = [np.frombuffer(b"".join(column), np.uint8) for column in columns[1:]]
        for column, values in enumerate(quals):
            if len(values) and values.min() < _OFFSET:
                read = int(np.searchsorted(bases.offsets, int(values.argmin()), side="right")) - 1
                raise UserError(f"{name} line {self.numbers[read]}: {_FIELDS[column + 1]} hold a byte below '!' (quality 0)")
        reads = Reads(bases, *(values - np.uint8(_OFFSET) for values in quals))
        return TextBatch(reads, Sequences.from_list(self.haplotypes), _all_pairs(self.testcases), self.testcases, ([], []))

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


def read_text(stream: Iterable[bytes], name: str, batch_pairs: int = 1 << 16, batch_bases: int = 100_000_000) -> Iterator[TextBatch]:
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
    batch = _PairCollector()
    for number, line in records:
        fields = line.split()
        if not 6 <= len(fields) <= 7:
            form = "haplotype read baseQ insQ delQ gcp [log10 likelihood]"
            raise UserError(f"{name} line {number}: {len(fields)} columns, expected '{form}'")
        batch.add(number, fields)
        if len(batch.pairs) >= batch_pairs or batch.records.size >= batch_bases:
            yield batch.batch(name)
            batch = _PairCollector()
    if batch.pairs:
        yield batch.batch(name)


class _PairCollector:
    """Pairs whose reads and haplotypes, which such files repeat, are kept once."""

    def __init__(self) -> None:
        self.records = _Collector()
        self.pairs: list[tuple[int, int]] = []
        self._reads: dict[bytes, int] = {}
        self._haplotypes: dict[bytes, int] = {}

    def add(self, number: int, fields: list[bytes]) -> None:
        columns = fields[1:6]
        text = b" ".join(columns)
        read = self._reads.setdefault(text, len(self._reads))
        haplotype = self._haplotypes.setdefault(fields[0], len(self._haplotypes))
        if read == len(self.records.reads):
            self.records.reads.append(columns)
            self.records.numbers.append(number)
            self.records.size += len(columns[0])
        if haplotype == len(self.records.haplotypes):
            self.records.haplotypes.append(fields[0])
            self.records.size += len(fields[0])
        self.pairs.append((read, haplotype))

    def batch(self, name: str) -> TextBatch:
        result = self.records.batch(name)
        result.pairs = np.array(self.pairs)
        result.columns = list(self._haplotypes), list(self._reads)
        return result


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
