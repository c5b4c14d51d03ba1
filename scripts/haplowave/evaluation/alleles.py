"""A VCF as alleles of one sample, each with the normalised atoms that it consists of."""

import contextlib
import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TextIO

import pysam
import pysam.bcftools

from haplowave.errors import UserError
from haplowave.evaluation.options import EvaluationOptions

_BASES = frozenset("ACGTN")


class Atom(NamedTuple):
    """The smallest part of a difference, left-aligned, as `bcftools norm -a -m -both` writes it; `start` 0-based."""

    start: int
    ref: str
    alt: str

    @property
    def is_snv(self) -> bool:
        return len(self.ref) == len(self.alt) == 1


@dataclass(frozen=True)
class Allele:
    """One alternative allele as it was called: reference bases [start, end) replaced by `alt`, shared ends taken off both.

    `copies` of `ploidy`; a haploid genotype counts as homozygous diploid. `quality`: QUAL as text.
    """

    start: int
    end: int
    alt: str
    copies: int
    ploidy: int
    quality: str
    atoms: tuple[Atom, ...]


@dataclass
class Source:
    """A normalised, indexed file of one sample's alleles. `skipped`: alleles left out because they are symbolic."""

    path: Path
    skipped: int


def trim(start: int, ref: str, alt: str) -> tuple[int, int, str]:
    """(start, end, alt) without the bases that both alleles share at their ends; an insertion has start = end."""
    shortest = min(len(ref), len(alt))
    right = next((i for i in range(shortest) if ref[-1 - i] != alt[-1 - i]), shortest)
    left = next((i for i in range(shortest - right) if ref[i] != alt[i]), shortest - right)
    return start + left, start + len(ref) - right, alt[left : len(alt) - right]


def sample_of(path: Path, wanted: str, *, or_only: bool) -> str:
    """The column to read: `wanted`, or (`or_only`) the only one there is. Raises UserError where neither exists."""
    with open_vcf(path) as file:
        names = list(file.header.samples)
    if wanted in names:
        return wanted
    if or_only and len(names) == 1:
        return names[0]
    raise UserError(f"{path}: has no sample '{wanted}'; it has {', '.join(names) or 'none'}")


def prepare(path: Path, sample: str, fasta: Path, contigs: Mapping[str, int], options: EvaluationOptions | None, folder: Path) -> Source:
    """Write the alleles that `sample` carries into `folder`, normalised and split into atoms, sorted and indexed.

    `options` selects calls by QUAL and FILTER; None takes every record. `fasta` needs its index beside it.
    Raises UserError for files that cannot be read, a contig or REF that does not fit the reference, missing genotypes.
    """
    plain, normal, final = (folder / f"{folder.name}.{kind}" for kind in ("plain.vcf", "normal.bcf", "vcf.gz"))
    with plain.open("w") as output:
        skipped = _write_alleles(path, sample, contigs, options, output)
    try:
        pysam.bcftools.norm("-a", "-c", "e", "-f", str(fasta), "-Ob", "-o", str(normal), str(plain), catch_stdout=False)
    except pysam.SamtoolsError as error:
        found = re.search(r"Reference allele mismatch[^\n\\]*", str(error))
        reason = found[0] if found else str(error).splitlines()[0]
        raise UserError(f"{path}: does not fit the reference ({reason}); give the FASTA that it was made with") from error
    pysam.bcftools.sort("-T", str(folder / "sort"), "-Oz", "-o", str(final), str(normal), catch_stdout=False)
    pysam.tabix_index(str(final), preset="vcf", force=True)
    return Source(final, skipped)


def read(source: Source, contig: str) -> list[Allele]:
    """The alleles of one contig, sorted by position."""
    parts: dict[int, list[pysam.VariantRecord]] = {}
    with pysam.VariantFile(str(source.path)) as file:
        for record in file.fetch(contig):
            parts.setdefault(record.info["PARENT"], []).append(record)
    alleles = []
    for records in parts.values():
        info = records[0].info
        atoms = tuple(sorted(Atom(record.start, record.ref.upper(), record.alts[0].upper()) for record in records))
        alt = "" if info["BASES"] == "." else info["BASES"]
        alleles.append(Allele(info["FIRST"], info["LAST"], alt, info["COPIES"], info["PLOIDY"], info["QUALITY"], atoms))
    return sorted(alleles, key=lambda allele: (allele.start, allele.end, allele.alt, allele.copies, allele.quality))


@contextlib.contextmanager
def open_vcf(path: Path) -> Iterator[pysam.VariantFile]:
    """An open VCF or BCF; what goes wrong while it is read becomes a UserError."""
    verbosity = pysam.set_verbosity(0)
    try:
        with pysam.VariantFile(str(path)) as file:
            yield file
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read as VCF ({error}); give a VCF or BCF, plain or bgzipped") from error
    finally:
        pysam.set_verbosity(verbosity)


def _write_alleles(path: Path, sample: str, contigs: Mapping[str, int], options: EvaluationOptions | None, output: TextIO) -> int:
    """One line an alternative allele, with nothing but what the comparison needs."""
    output.write("##fileformat=VCFv4.3\n")
    output.writelines(f"##contig=<ID={name},length={length}>\n" for name, length in contigs.items())
    for key, kind in (("PARENT", "Integer"), ("FIRST", "Integer"), ("LAST", "Integer"), ("COPIES", "Integer"), ("PLOIDY", "Integer")):
        output.write(f'##INFO=<ID={key},Number=1,Type={kind},Description="{key}">\n')
    output.write('##INFO=<ID=BASES,Number=1,Type=String,Description="Alternative bases">\n')
    output.write('##INFO=<ID=QUALITY,Number=1,Type=String,Description="QUAL of the record">\n')
    output.write("#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n")
    serial, skipped, seen = itertools.count(), 0, False
    with open_vcf(path) as file:
        if not list(file.header.samples):
            raise UserError(f"{path}: has no samples; genotypes are needed")
        file.subset_samples([sample])
        for record in file:
            if record.contig not in contigs:
                continue
            seen = True
            if options and not _counts(record, options):
                continue
            for alt, copies, ploidy in _carried(path, record):
                if alt == "*":  # says that another record's deletion is here, and that record is compared
                    continue
                ref, alt = record.ref.upper(), alt.upper()
                if not _BASES.issuperset(alt) or ref == alt:
                    skipped += 1
                    continue
                first, last, bases = trim(record.start, ref, alt)
                quality = "." if record.qual is None else f"{record.qual:g}"
                info = f"PARENT={next(serial)};FIRST={first};LAST={last};BASES={bases or '.'};COPIES={copies};PLOIDY={ploidy}"
                output.write(f"{record.contig}\t{record.pos}\t.\t{ref}\t{alt}\t.\t.\t{info};QUALITY={quality}\n")
        if not seen:
            require_shared_contig(path, file, contigs)
    return skipped


def require_shared_contig(path: Path, file: pysam.VariantFile, contigs: Mapping[str, int]) -> None:
    """Raise UserError where the header names no contig of the reference (`contigs`)."""
    if not set(file.header.contigs) & set(contigs):
        raise UserError(f"{path}: none of its contigs is in the reference; chr1 and 1, for example, are different names")


def _counts(record: pysam.VariantRecord, options: EvaluationOptions) -> bool:
    passes = options.all_filters or set(record.filter.keys()) <= {"PASS"}
    return passes and (options.min_quality <= 0 or (record.qual is not None and record.qual >= options.min_quality))


def _carried(path: Path, record: pysam.VariantRecord) -> Iterator[tuple[str, int, int]]:
    """(allele, copies, ploidy) of each alternative allele in the sample's genotype."""
    genotype = record.samples[0].get("GT")
    if genotype is None:
        raise UserError(f"{path}: record at {record.contig}:{record.pos} has no GT; genotypes are needed")
    for index in sorted({allele for allele in genotype if allele}):
        copies = genotype.count(index)
        yield record.alleles[index], *((2, 2) if len(genotype) == 1 else (copies, len(genotype)))
