"""One sample's calls against its truth set."""

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from haplowave.evaluation import alleles, summary
from haplowave.evaluation.inputs import read_confident
from haplowave.evaluation.matching import Side, match
from haplowave.evaluation.options import EvaluationOptions
from haplowave.io.reference import Reference, index_paths, open_reference


def evaluate(
    calls: Path,
    truth: Path,
    confident: Path | None,
    sample: str,
    reference: Path,
    output: Path,
    options: EvaluationOptions,
    index_dir: Path | None = None,
) -> summary.Tally:
    """Write summary.tsv, fp.vcf.gz and fn.vcf.gz into `output` and return what they hold.

    `sample` names the column of `calls`, and that of `truth` unless it has only one. Memory: one contig's alleles.
    Raises UserError for files that cannot be read or do not fit the reference.
    """
    genome = open_reference(reference, index_dir)
    regions = None if confident is None else read_confident(confident, truth, genome.contigs, reference)
    tally = summary.Tally(sample, summary.Confident(regions))
    unresolved = 0
    with _workspace(genome, index_dir) as (folder, fasta):
        sources = []
        for name, path, selection, or_only in (("truth", truth, None, True), ("calls", calls, options, False)):
            column = alleles.sample_of(path, sample, or_only=or_only)
            (folder / name).mkdir()
            sources.append(alleles.prepare(path, column, fasta, genome.contigs, selection, folder / name))
        for contig in genome.contigs:
            sides = [Side(alleles.read(source, contig)) for source in sources]
            matches = match(*sides, lambda start, end, contig=contig: genome.fetch(contig, start, end), options)
            unresolved += matches.unresolved
            tally.add(contig, *sides, matches)
    for name, source in zip(("truth", "calls"), sources, strict=True):
        if source.skipped:
            print(f"{name}: {source.skipped} symbolic alleles left out", file=sys.stderr)
    if unresolved:
        print(f"{unresolved} neighbourhoods were too complex for haplotypes; exact matches alone count there", file=sys.stderr)
    summary.write(output, tally, genome.contigs)
    return tally


@contextlib.contextmanager
def _workspace(genome: Reference, index_dir: Path | None) -> Iterator[tuple[Path, Path]]:
    """A temporary folder, and in it the FASTA with its index beside it, as bcftools wants it, without a copy."""
    with tempfile.TemporaryDirectory(prefix="haplowave-evaluate-") as name:
        folder = Path(name)
        fasta = folder / genome.path.name
        fasta.symlink_to(genome.path.absolute())
        for place in (None, index_dir):
            for index in index_paths(genome.path, place):
                if index.is_file() and not (folder / index.name).exists():
                    (folder / index.name).symlink_to(index.absolute())
        yield folder, fasta
