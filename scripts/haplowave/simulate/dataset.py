"""A whole simulated data set in one folder: reference, truth, reads of three relatives, sheet and configuration."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pysam

from haplowave import __version__
from haplowave.files import atomic_path
from haplowave.io.indexed_vcf import write_indexed_vcf
from haplowave.simulate import alignment, long_reads, reference, short_reads, variants
from haplowave.simulate import bases as b
from haplowave.simulate.options import SimulationOptions
from haplowave.simulate.reference import Contig
from haplowave.simulate.variants import Site

_LINE = 60
_CONTIG_ENDS, _GAP_FLANK = 200, 150  # bp outside the confident regions: reads end there


@dataclass(frozen=True)
class Member:
    """A sample and the two founder haplotypes that it carries."""

    name: str
    founders: tuple[int, int]
    is_long: bool


MEMBERS = (Member("child", (0, 2), False), Member("mother", (0, 1), False), Member("father", (2, 3), True))
"""The child has one haplotype of each parent, unrecombined; the father's reads are the long ones."""


@dataclass(frozen=True)
class Genomes:
    """Contigs, their sites, and `founders[contig][founder]`: uint8 sequences."""

    contigs: list[Contig]
    sites: list[list[Site]]
    founders: list[list[np.ndarray]]


def generator(seed: int, *path: int) -> np.random.Generator:
    """An independent stream for each part, so that a change of one leaves the others as they are."""
    return np.random.default_rng([seed, *path])


def genomes(options: SimulationOptions) -> Genomes:
    contigs = reference.build(generator(options.seed, 0), options.size)
    sites = [variants.family(generator(options.seed, 1, index), contig) for index, contig in enumerate(contigs)]
    founders = [
        [variants.haplotype(contig.genome, own, founder) for founder in range(variants.FOUNDERS)]
        for contig, own in zip(contigs, sites, strict=True)
    ]
    return Genomes(contigs, sites, founders)


def write(folder: Path, options: SimulationOptions) -> None:
    """Write the data set: ref.fa, truth.vcf.gz, confident.bed, SAMPLE.PLATFORM.bam with their indexes, samples.tsv, config.yaml.

    All reads of a sample are held in memory: about 1 GB for 1 Mb of reference at the default depths.
    Raises UserError for options below their minimum and for a folder that cannot be written.
    """
    options.check()
    made = genomes(options)
    fasta = folder / "ref.fa"
    _write_reference(fasta, made.contigs)
    write_indexed_vcf(folder / "truth.vcf.gz", truth_lines(made))
    _write_confident(folder / "confident.bed", made.contigs)
    profile = long_reads.PROFILES[options.long_platform]
    rows = []
    for number, member in enumerate(MEMBERS):
        platform = options.long_platform if member.is_long else "illumina"
        header = _header(member.name, platform, made.contigs)
        mapper = alignment.Mapper(fasta, profile.preset if member.is_long else "sr")
        draw = _long_segments if member.is_long else _pair_segments
        bam = folder / f"{member.name}.{platform}.bam"
        _write_alignments(bam, header, draw(made, member, number, options, mapper, header))
        rows.append(f"{member.name}\t{bam.name}\t{platform}\n")
    _write_text(folder / "samples.tsv", ["sample\treads\tplatform\n", *rows])
    _write_text(folder / "config.yaml", _configuration(options))


def _haplotypes(made: Genomes, member: Member, number: int, options: SimulationOptions) -> Iterator[tuple[np.random.Generator, np.ndarray]]:
    """The sequences that the reads of `member` are drawn from, each with its own random numbers."""
    for contig, founders in enumerate(made.founders):
        for founder in member.founders:
            yield generator(options.seed, 2, number, contig, founder), founders[founder]


def _pair_segments(
    made: Genomes, member: Member, number: int, options: SimulationOptions, mapper: alignment.Mapper, header: pysam.AlignmentHeader
) -> Iterator[pysam.AlignedSegment]:
    serial = 0
    for rng, haplotype in _haplotypes(made, member, number, options):
        pairs = short_reads.draw(rng, haplotype, options.short_depth / 2)
        for row in range(len(pairs)):
            name = f"SIM:{number + 1}:FC01:1:{1101 + serial // 4000}:{1000 + serial * 37 % 20000}:{1000 + serial}"
            serial += 1
            for segment in alignment.map_pair(mapper, header, name, pairs.bases[:, row], pairs.quals[:, row]):
                segment.is_duplicate, segment.is_qcfail = bool(pairs.duplicate[row]), bool(pairs.failed[row])
                yield segment


def _long_segments(
    made: Genomes, member: Member, number: int, options: SimulationOptions, mapper: alignment.Mapper, header: pysam.AlignmentHeader
) -> Iterator[pysam.AlignedSegment]:
    serial = 0
    for rng, haplotype in _haplotypes(made, member, number, options):
        for read in long_reads.draw(rng, haplotype, options.long_depth / 2, long_reads.PROFILES[options.long_platform]):
            serial += 1
            yield from alignment.map_long(mapper, header, f"sim{number + 1}/{serial}/ccs", read.bases, read.quals)


def _header(sample: str, platform: str, contigs: list[Contig]) -> pysam.AlignmentHeader:
    technology = {"illumina": "ILLUMINA", "hifi": "PACBIO", "ont": "ONT"}[platform]
    return pysam.AlignmentHeader.from_dict(
        {
            "HD": {"VN": "1.6", "SO": "coordinate"},
            "SQ": [{"SN": contig.name, "LN": len(contig.shown)} for contig in contigs],
            "RG": [{"ID": f"{sample}.1", "SM": sample, "LB": f"{sample}.{platform}", "PL": technology, "PU": "FC01.1"}],
            "PG": [{"ID": "haplowave-simulate", "PN": "haplowave", "VN": __version__}],
        }
    )


def _write_alignments(path: Path, header: pysam.AlignmentHeader, segments: Iterable[pysam.AlignedSegment]) -> None:
    """Sort by contig, position, name; unplaced reads last; index."""
    group = header.to_dict()["RG"][0]["ID"]
    unplaced = header.nreferences
    ordered = sorted(
        segments,
        key=lambda segment: (
            unplaced if segment.reference_id < 0 else segment.reference_id,
            segment.reference_start,
            segment.query_name,
            segment.flag,
        ),
    )
    with atomic_path(path) as temporary:
        with pysam.AlignmentFile(str(temporary), "wb", header=header) as output:
            for segment in ordered:
                segment.set_tag("RG", group)
                output.write(segment)
        with atomic_path(path.with_name(path.name + ".bai")) as index:
            pysam.index("-o", str(index), str(temporary))


def _write_text(path: Path, lines: Iterable[str]) -> None:
    with atomic_path(path) as temporary, temporary.open("w") as output:
        output.writelines(lines)


def _write_reference(path: Path, contigs: list[Contig]) -> None:
    lines = []
    for contig in contigs:
        text = b.decode(contig.shown)
        lines.append(f">{contig.name}\n")
        lines += [text[start : start + _LINE] + "\n" for start in range(0, len(text), _LINE)]
    _write_text(path, lines)
    with atomic_path(path.with_name(path.name + ".fai")) as index:
        pysam.faidx("--fai-idx", str(index), str(path))


def truth_lines(made: Genomes) -> Iterator[str]:
    """The phased genotypes of all members as VCF 4.3; KIND says how a site was made."""
    yield "##fileformat=VCFv4.3\n"
    yield f"##source=haplowave simulate {__version__}\n"
    for contig in made.contigs:
        yield f"##contig=<ID={contig.name},length={len(contig.shown)}>\n"
    yield '##FILTER=<ID=PASS,Description="All filters passed">\n'
    yield '##INFO=<ID=KIND,Number=1,Type=String,Description="How the site was made">\n'
    yield '##FORMAT=<ID=GT,Number=1,Type=String,Description="Phased genotype">\n'
    yield "#" + "\t".join(["CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT", *(m.name for m in MEMBERS)]) + "\n"
    for contig, sites in zip(made.contigs, made.sites, strict=True):
        for site in sites:
            genotypes = ["|".join(str(site.founders[founder]) for founder in member.founders) for member in MEMBERS]
            fields = [contig.name, site.start + 1, ".", site.ref, ",".join(site.alts), ".", "PASS", f"KIND={site.kind}", "GT"]
            yield "\t".join(map(str, [*fields, *genotypes])) + "\n"


def confident_regions(contig: Contig) -> list[tuple[int, int]]:
    """0-based half-open: what reads can decide, without contig ends, gaps and their flanks, and identical copies."""
    usable = np.ones(len(contig.shown) + 2, bool)
    usable[: _CONTIG_ENDS + 1] = usable[-_CONTIG_ENDS - 1 :] = False
    unknown = np.flatnonzero(contig.shown == ord("N")) + 1
    for offset in (-_GAP_FLANK, 0, _GAP_FLANK):
        usable[np.clip(unknown + offset, 0, len(usable) - 1)] = False
    usable[np.flatnonzero(~contig.known) + 1] = False
    for start, end in contig.ambiguous:
        usable[start + 1 : end + 1] = False
    edges = np.flatnonzero(usable[1:] != usable[:-1])
    return [(int(start), int(end)) for start, end in edges.reshape(-1, 2)]


def _write_confident(path: Path, contigs: list[Contig]) -> None:
    _write_text(path, [f"{contig.name}\t{start}\t{end}\n" for contig in contigs for start, end in confident_regions(contig)])


def _configuration(options: SimulationOptions) -> list[str]:
    truths = [f"  {member.name}:\n    truth: truth.vcf.gz\n    confident: confident.bed\n" for member in MEMBERS]
    head = "samples: samples.tsv\nreference: ref.fa\nresults: results\n"
    return [f"# haplowave simulate, seed {options.seed}\n", head, f"chunk_size: {options.chunk_size}\n", "evaluation:\n", *truths]
