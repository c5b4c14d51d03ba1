"""From a configuration to the list of jobs: what the Snakefile needs to know before its rules, all errors at once."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from haplowave import config as configuration
from haplowave.config import Config
from haplowave.errors import UserError
from haplowave.evaluation.inputs import check_truth
from haplowave.files import atomic_path
from haplowave.io import checks, dictionary, intervals
from haplowave.io.coverage import covered_spans
from haplowave.io.fasta_pairs import parse_pairs
from haplowave.io.reference import index_paths, is_bgzipped
from haplowave.io.samples import Sample, parse_samples, read_samples


@dataclass(frozen=True)
class Plan:
    """Everything that the rules are made from.

    `reference_indexed`: whether the FASTA has its index beside it; `contig_source`: the file that names the contigs;
    `chunks`: intervals by chunk name; `pairs`: FASTA files to compare, by the pair's name.
    """

    config: Config
    samples: Sequence[Sample]
    reference_indexed: bool
    contig_source: Path
    chunks: Mapping[str, Sequence[intervals.Interval]]
    warnings: Sequence[str] = field(default_factory=list)
    pairs: Mapping[str, tuple[Path, Path]] = field(default_factory=dict)

    @property
    def alignments(self) -> list[Path]:
        """All alignment files, in the order of the sheet."""
        return [path for sample in self.samples for path in sample.reads]

    @property
    def aligned_pairs(self) -> bool:
        """Whether `pairs` are to be aligned too."""
        return bool(self.config.sections["edit_distance"].alignment)

    @property
    def alignment_indexes(self) -> list[Path]:
        """Their indexes."""
        return [index for path in self.alignments if (index := checks.find_index(path)) is not None]


class PlanError(Exception):
    """`problems`: one line each, for the user."""

    def __init__(self, problems: Sequence[str]):
        super().__init__("\n".join(problems))
        self.problems = list(problems)


def make_plan(raw: Mapping[str, Any], config_files: Sequence[Path], deep: bool = True) -> Plan:
    """Check the configuration and the files that it names, and cut the genome into chunks.

    deep: look into the alignment files too (not wanted again in every job of a cluster). Raises PlanError with all problems.
    """
    config, problems = configuration.resolve(raw, config_files)
    if config is None:
        raise PlanError(problems)
    samples, problems = parse_samples(config.samples)
    problems += _file_problems(config, samples)
    table = config.sections["edit_distance"].pairs
    pairs, errors = parse_pairs(Path(table)) if table else ({}, [])
    problems += errors
    if problems:
        raise PlanError(problems)
    indexed = has_index(config.reference)
    try:
        return replace(_plan(config, samples, indexed, deep), pairs=pairs)
    except UserError as error:
        raise PlanError([str(error)]) from error


def has_index(reference: Path) -> bool:
    """Whether the index files that `reference` needs lie beside it."""
    fai, gzi = index_paths(reference)
    return fai.is_file() and (gzi.is_file() or not is_bgzipped(reference))


def _file_problems(config: Config, samples: Sequence[Sample]) -> list[str]:
    wanted = [("reference", config.reference)] + ([("regions", config.regions)] if config.regions else [])
    problems = []
    names = {sample.name for sample in samples}
    for sample, entry in config.evaluation.items():
        if names and sample not in names:
            problems.append(f"config key evaluation.{sample}: is not a sample of {config.samples}; it has {', '.join(sorted(names))}")
        wanted += [(f"evaluation.{sample}.{kind}", path) for kind, path in entry.items() if path is not None]
    problems += [f"config key {key}: no such file {path}; correct the path" for key, path in wanted if not path.is_file()]
    named = [("samples", config.samples), ("results", config.results), *wanted]
    named += [("samples", path) for sample in samples for path in sample.reads]
    problems += [
        f"config key {key}: {path} holds a brace, which Snakemake takes for a wildcard; rename it"
        for key, path in named
        if path is not None and set("{}") & set(str(path))
    ]
    place = next(folder for folder in (config.results, *config.results.parents) if folder.exists())
    if not (place.is_dir() and os.access(place, os.W_OK)):
        what = "is not a folder" if not place.is_dir() else "cannot be written"
        problems.append(f"config key results: {place} {what}; choose another folder")
    return problems


def _plan(config: Config, samples: Sequence[Sample], indexed: bool, deep: bool) -> Plan:
    fai, gzi = index_paths(config.reference)
    source = fai if indexed else _first_alignments(samples)
    contigs = dictionary.read_contigs(source)
    problems: list[str] = []
    warnings: list[str] = []
    if indexed and deep:
        bgzipped = is_bgzipped(config.reference)
        check = (
            dictionary.check_bgzipped_index(config.reference, fai, gzi) if bgzipped else dictionary.check_fasta_index(config.reference, fai)
        )
        problems += [check] if check else []
    if deep:
        scope = checks.Scope(contigs if indexed else None, bool(config.regions or config.contigs))
        findings = checks.check_samples(samples, scope)
        problems += findings.errors
        warnings += findings.warnings
        for sample, entry in config.evaluation.items():
            findings = check_truth(sample, entry["truth"], entry["confident"], contigs, config.reference)
            problems += findings.errors
            warnings += findings.warnings
    bed = None
    if config.regions:
        bed, errors, more = intervals.parse_bed(config.regions, contigs)
        problems += errors
        warnings += more
    if problems:
        raise PlanError(problems)
    targets = intervals.target_intervals(contigs, bed, config.contigs)
    chunks = chunk_intervals(targets, config.chunk_size, [path for sample in samples for path in sample.reads])
    return Plan(config, samples, indexed, source, chunks, warnings)


def _first_alignments(samples: Sequence[Sample]) -> Path:
    path = samples[0].reads[0]
    if not path.is_file():
        raise UserError(f"sample {samples[0].name}: {path}: no such file; correct column reads of the sheet")
    return path


def chunk_intervals(
    targets: Sequence[intervals.Interval], chunk_size: int, alignments: Sequence[Path]
) -> dict[str, list[intervals.Interval]]:
    """Chunk name -> intervals. What lies before the first or after the last read of a contig is left out: it can have no calls."""
    spans = [covered_spans(path) for path in alignments]
    if None not in spans:
        starts: dict[str, int] = {}
        ends: dict[str, int] = {}
        for contig, (start, end) in (item for span in spans if span for item in span.items()):
            starts[contig] = min(start, starts.get(contig, start))
            ends[contig] = max(end, ends.get(contig, end))
        clipped = [
            intervals.Interval(target.contig, max(target.start, starts[target.contig]), min(target.end, ends[target.contig]))
            for target in targets
            if target.contig in starts
        ]
        targets = [target for target in clipped if target.start < target.end]
    chunks = intervals.cut(targets, chunk_size)
    return dict(zip(intervals.chunk_names(len(chunks)), chunks, strict=True))


def write_chunks(
    *,
    reference: str | Path,
    samples: str | Path,
    contig_source: str | Path,
    regions: str | Path | None,
    names: Sequence[str],
    chunk_size: int,
    outputs: Sequence[str | Path],
) -> None:
    """Write chunk i as BED to outputs[i], after a check of all alignment files against the index of `reference`.

    Raises UserError that lists what does not fit, or where the number of chunks is not that of `outputs`.
    """
    known = dictionary.read_contigs(index_paths(Path(reference))[0])
    sheet = read_samples(samples)
    findings = checks.check_samples(sheet, checks.Scope(known, bool(regions or names)))
    contigs = dictionary.read_contigs(contig_source)
    bed, problems = None, list(findings.errors)
    if regions:
        bed, errors, _ = intervals.parse_bed(regions, {name: length for name, length in contigs.items() if name in known})
        problems += errors
    if problems:
        raise UserError("; ".join(problems))
    targets = intervals.target_intervals(contigs, bed, names)
    chunks = chunk_intervals(targets, chunk_size, [path for sample in sheet for path in sample.reads])
    if len(chunks) != len(outputs):
        raise UserError(f"{contig_source}: gives {len(chunks)} chunks for {len(outputs)} outputs; an input changed meanwhile, start again")
    for output, chunk in zip(outputs, chunks.values(), strict=True):
        with atomic_path(output) as temporary:
            temporary.write_text(intervals.bed_text(chunk), encoding="utf-8")


def remove_other_chunks(results: str | Path, names: Sequence[str]) -> None:
    """Remove what an earlier run left in `results` for chunks that are not among `names`, so that tables/KIND/*.parquet is one run."""
    folders = [Path(results) / "intervals", *(Path(results) / "tables").glob("*/")]
    folders += [*(Path(results) / "logs").glob("*/"), *(Path(results) / "benchmarks").glob("*/")]
    for path in (path for folder in folders if folder.is_dir() for path in folder.iterdir()):
        if intervals.is_chunk_name(path.name.split(".")[0]) and path.name.split(".")[0] not in names:
            path.unlink()
