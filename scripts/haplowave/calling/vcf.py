"""VCF 4.3 text of calls, bgzipped.

The header depends on the reference, the samples and the options alone: not on chunk, paths, cores or date, so that chunks can
be joined and repeated runs compared byte by byte.
"""

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pysam

from haplowave import __version__
from haplowave.calling.genotype_record import Call, SampleCall
from haplowave.files import atomic_path
from haplowave.options import GenotypeOptions

_INFO = (
    ("AC", "A", "Integer", "Called copies of each alternative allele"),
    ("AF", "A", "Float", "Share of each alternative allele among the called ones"),
    ("AN", "1", "Integer", "Number of called alleles"),
    ("ARTQ", "1", "Float", "Phred-scaled probability that a systematic error explains the variant reads, of the most credible allele"),
    ("DP", "1", "Integer", "Fragments over the site, all samples"),
    ("FS", "1", "Float", "Phred-scaled p-value of strand bias by Fisher's exact test"),
    ("MQ", "1", "Float", "Root mean square of mapping qualities"),
    ("MQRankSum", "1", "Float", "z of the rank sum test of mapping qualities, alternative against reference reads"),
    ("QD", "1", "Float", "QUAL divided by the depth of samples that carry a variant"),
    ("ReadPosRankSum", "1", "Float", "z of the rank sum test of distances to the read's nearest end, alternative against reference reads"),
    ("SB", "4", "Integer", "Informative reads: reference forward, reference reverse, alternative forward, alternative reverse"),
    ("SOR", "1", "Float", "Strand bias as symmetric odds ratio"),
)
_FORMAT = (
    ("GT", "1", "String", "Genotype"),
    ("AD", "R", "Integer", "Fragments that support each allele"),
    ("DP", "1", "Integer", "Fragments over the site"),
    ("GQ", "1", "Integer", "Phred-scaled probability that the genotype is wrong, at most 99"),
    ("PL", "G", "Integer", "Phred-scaled genotype likelihoods, the best 0"),
    ("PS", "1", "Integer", "Phase set: position of its first site"),
)
_DECIMALS = {"AF": 4, "ARTQ": 1, "FS": 3, "MQ": 2, "MQRankSum": 3, "QD": 2, "ReadPosRankSum": 3, "SOR": 3}


def header_text(contigs: Mapping[str, int], samples: Sequence[str], options: GenotypeOptions) -> str:
    """The header, line ends included. `contigs`: name -> length in the reference's order."""
    settings = ";".join(f"{field.name}={getattr(options, field.name)}" for field in dataclasses.fields(options))
    lines = ["##fileformat=VCFv4.3", f"##source=haplowave {__version__}", f"##haplowave_genotyping={settings}"]
    lines += ['##FILTER=<ID=PASS,Description="All filters passed">']
    lines += [f'##FILTER=<ID={name},Description="{text}">' for name, text in _filters(options)]
    for kind, fields in (("INFO", _INFO), ("FORMAT", _FORMAT)):
        lines += [f'##{kind}=<ID={name},Number={number},Type={type_},Description="{text}">' for name, number, type_, text in fields]
    lines += [f"##contig=<ID={name},length={length}>" for name, length in contigs.items()]
    columns = ["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT", *samples]
    return "\n".join([*lines, "\t".join(columns), ""])


def _filters(options: GenotypeOptions) -> list[tuple[str, str]]:
    strand = f"FS above {options.max_strand_bias_snv:g} (SNV) or {options.max_strand_bias_indel:g} (other)"
    position = f"ReadPosRankSum below {options.min_position_rank_sum_snv:g} (SNV) or {options.min_position_rank_sum_indel:g} (other)"
    return [
        ("LowQual", f"QUAL below {options.low_quality:g}"),
        ("LowQD", f"QD below {options.min_quality_by_depth:g}, scaled by 2 / ploidy above 2"),
        ("Artefact", f"ARTQ below {options.min_artefact_quality:g}"),
        ("StrandBias", strand),
        ("LowMQ", f"MQ below {options.min_root_mapping_quality:g}"),
        ("MQRankSum", f"MQRankSum below {options.min_mapping_quality_rank_sum:g}"),
        ("ReadPosRankSum", position),
    ]


def record_text(call: Call, ploidies: Sequence[int]) -> str:
    """One line, its end included. `ploidies`: of each sample, for genotypes that are not called."""
    info = ";".join(f"{key}={_values(key, value)}" for key, value in call.info.items())
    phased = any(sample.phase_set is not None for sample in call.samples)
    fields = ["GT", "AD", "DP", "GQ", "PL"] + (["PS"] if phased else [])
    columns = [
        call.contig,
        str(call.pos + 1),
        ".",
        call.alleles[0],
        ",".join(call.alleles[1:]),
        f"{call.quality:.1f}",
        ";".join(call.filters) or "PASS",
        info or ".",
        ":".join(fields),
        *(_sample_text(sample, ploidy, phased) for sample, ploidy in zip(call.samples, ploidies, strict=True)),
    ]
    return "\t".join(columns) + "\n"


def _values(key: str, value: object) -> str:
    if isinstance(value, list):
        return ",".join(_values(key, one) for one in value)
    return f"{value:.{_DECIMALS[key]}f}" if isinstance(value, float) else str(value)


def _sample_text(sample: SampleCall, ploidy: int, phased: bool) -> str:
    separator = "/" if sample.phase_set is None else "|"
    genotype = [str(allele) for allele in sample.genotype] if sample.genotype is not None else ["."] * ploidy
    values = [
        separator.join(genotype),
        ",".join(str(depth) for depth in sample.allele_depths),
        str(sample.depth),
        "." if sample.quality is None else str(sample.quality),
        "." if sample.likelihoods is None else ",".join(str(value) for value in sample.likelihoods),
    ]
    if phased:
        values.append("." if sample.phase_set is None else str(sample.phase_set + 1))
    return ":".join(values)


@contextlib.contextmanager
def vcf_writer(path: str | Path, header: str) -> Iterator[pysam.BGZFile]:
    """A bgzipped file that begins with `header`; it appears under its name when the block ends without an error."""
    with atomic_path(path) as temporary, pysam.BGZFile(str(temporary), "wb") as file:
        file.write(header.encode())
        yield file
