"""What is wrong with the input files, all of it at once, before any job starts.

Errors are what would give wrong or no calls; warnings are what a careful user wants to know:

- error: file or index missing, file truncated or not BAM/CRAM, not sorted, an index that does not belong to the file,
  a contig whose length differs from the reference's, a contig with reads that the reference lacks (unless `regions` or
  `contigs` say where to look), read groups of several samples in one file;
- warning: index older than its file although it fits, no read group, a read group of another name than the sheet's
  (the sheet decides), no reads at all.
"""

import gzip
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pysam

from haplowave.io.samples import Sample

# SAM specification 4.1.2 and CRAM specification 9: what an intact file ends with.
_BAM_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
_CRAM_ENDS = (
    bytes.fromhex("0f000000ffffffff0fe0454f4600000000010005bdd94f0001000606010001000100ee63014b"),
    bytes.fromhex("0b000000ffffffff0fe0454f460000000001000606010001000100"),
)
_INDEX_SUFFIXES = {"BAM": (".bai", ".csi"), "CRAM": (".crai",)}
_LISTED = 5
_USE_ITS_REFERENCE = "use the reference it was aligned to"


@dataclass
class Findings:
    """Messages for the user, each complete on one line."""

    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Scope:
    """The reference's contigs (name -> length; None: not known yet) and whether the user restricts the run to some of them."""

    contigs: dict[str, int] | None
    restricted: bool


def check_samples(samples: Iterable[Sample], scope: Scope) -> Findings:
    """Look at every alignment file of `samples`: header, end, index; no read is decoded but for an index that looks stale."""
    findings = Findings()
    verbosity = pysam.set_verbosity(0)
    try:
        for sample in samples:
            for path in sample.reads:
                _check_file(sample, path, scope, findings)
    finally:
        pysam.set_verbosity(verbosity)
    return findings


def find_index(path: Path) -> Path | None:
    """The index of a BAM or CRAM, where samtools would look for it; None where there is none."""
    names = [f"{path.name}{suffix}" for suffix in (".csi", ".bai", ".crai")]
    names += [f"{path.stem}{suffix}" for suffix in (".csi", ".bai", ".crai")]
    return next((path.with_name(name) for name in names if path.with_name(name).is_file()), None)


def _check_file(sample: Sample, path: Path, scope: Scope, findings: Findings) -> None:
    where = f"sample {sample.name}: {path}"
    if not path.is_file():
        findings.errors.append(f"{where}: no such file; correct column reads of the sheet")
        return
    kind = _kind(path)
    if kind is None:
        findings.errors.append(f"{where}: is neither BAM nor CRAM; give aligned, sorted reads")
        return
    if not _is_complete(path, kind):
        findings.errors.append(f"{where}: is truncated (no end-of-file block); copy or make it again")
        return
    index = find_index(path)
    if index is None:
        findings.errors.append(f"{where}: has no index; run 'samtools index {path}'")
        return
    before = len(findings.errors)
    try:
        with pysam.AlignmentFile(str(path), "r", index_filename=str(index), require_index=True, check_sq=False) as file:
            _check_header(where, sample, file, findings)
            _check_index(where, path, index, file, findings)
            with_reads = _contigs_with_reads(file, index)
            _check_contigs(where, file, with_reads, scope, findings)
            if with_reads is not None and not with_reads:
                findings.warnings.append(f"{where}: holds no mapped reads; sample {sample.name} gets no calls from it")
    except (OSError, ValueError) as error:
        if len(findings.errors) > before:
            return  # closing a file whose index was found not to fit fails, too
        findings.errors.append(f"{where}: cannot be opened with index {index.name} ({error}); run 'samtools index {path}'")


def _kind(path: Path) -> str | None:
    with open(path, "rb") as file:
        start = file.read(4)
    if start == b"CRAM":
        return "CRAM"
    if start[:2] != b"\x1f\x8b":
        return None
    try:
        with gzip.open(path) as file:
            return "BAM" if file.read(4) == b"BAM\1" else None
    except (OSError, EOFError):
        return None


def _is_complete(path: Path, kind: str) -> bool:
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - 64))
        end = file.read()
    return end.endswith(_BAM_END) if kind == "BAM" else end.endswith(_CRAM_ENDS)


def _check_header(where: str, sample: Sample, file: pysam.AlignmentFile, findings: Findings) -> None:
    header = file.header.to_dict()
    order = header.get("HD", {}).get("SO", "unknown")
    if order not in ("coordinate", "unknown"):
        findings.errors.append(f"{where}: is sorted by {order}, not by coordinate; run 'samtools sort' and 'samtools index'")
    names = sorted({group["SM"] for group in header.get("RG", []) if group.get("SM")})
    if not names:
        findings.warnings.append(f"{where}: has no read group with SM; all its reads are taken as sample {sample.name}")
    elif len(names) > 1:
        findings.errors.append(
            f"{where}: holds reads of {len(names)} samples ({_some(names)}); split it with 'samtools split', one row a file"
        )
    elif names[0] != sample.name:
        findings.warnings.append(f"{where}: its read groups say sample {names[0]}; the sheet's name {sample.name} is used")


def _check_index(where: str, path: Path, index: Path, file: pysam.AlignmentFile, findings: Findings) -> None:
    if os.path.getmtime(index) >= os.path.getmtime(path):
        return
    if _index_fits(file):
        findings.warnings.append(
            f"{where}: is newer than its index {index.name}, which still fits; 'samtools index {path}' would silence this"
        )
    else:
        findings.errors.append(f"{where}: is newer than its index {index.name}, which does not fit; run 'samtools index {path}'")


def _index_fits(file: pysam.AlignmentFile) -> bool:
    """Whether the index leads to the first record of the file, and to some record on every contig that it says has any."""
    try:
        first = next((read for read in file.head(1)), None)
        for contig, mapped in _counts(file):
            found = next(file.fetch(contig), None) if mapped else None
            if mapped and (found is None or found.reference_name != contig):
                return False
        if first is None or first.is_unmapped:
            return True
        found = next(file.fetch(first.reference_name), None)
        return found is not None and (found.query_name, found.reference_start) == (first.query_name, first.reference_start)
    except (OSError, ValueError, StopIteration):
        return False


def _counts(file: pysam.AlignmentFile) -> Iterator[tuple[str, int]]:
    if not file.is_cram:
        yield from ((entry.contig, entry.mapped) for entry in file.get_index_statistics())


def _contigs_with_reads(file: pysam.AlignmentFile, index: Path) -> set[str] | None:
    """Names of the contigs that the index lists reads on; None where the index cannot tell (an unreadable .crai)."""
    if not file.is_cram:
        return {contig for contig, mapped in _counts(file) if mapped}
    try:
        with gzip.open(index, "rt") as lines:
            numbers = {int(line.split("\t", 1)[0]) for line in lines}
    except (OSError, EOFError, ValueError):
        return None
    return {file.get_reference_name(number) for number in numbers if 0 <= number < file.nreferences}


def _check_contigs(where: str, file: pysam.AlignmentFile, with_reads: set[str] | None, scope: Scope, findings: Findings) -> None:
    if scope.contigs is None:
        return
    differing = [
        f"{name}: {length:,} here, {scope.contigs[name]:,} there"
        for name, length in zip(file.references, file.lengths, strict=True)
        if name in scope.contigs and scope.contigs[name] != length
    ]
    if differing:
        findings.errors.append(
            f"{where}: contig lengths differ from the reference ({_some(differing)}); use the reference it was aligned to"
        )
    if not set(file.references) & set(scope.contigs):
        findings.errors.append(
            f"{where}: shares no contig with the reference (here {_some(file.references)}; "
            f"there {_some(scope.contigs)}); {_USE_ITS_REFERENCE}"
        )
        return
    missing = [name for name in file.references if name not in scope.contigs and (with_reads is None or name in with_reads)]
    if missing and not scope.restricted:
        findings.errors.append(
            f"{where}: has reads on {len(missing)} contig(s) that the reference lacks ({_some(missing)}); {_USE_ITS_REFERENCE}, "
            "or say where to call with 'regions' or 'contigs'"
        )


def _some(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(names[:_LISTED]) + (", …" if len(names) > _LISTED else "")
