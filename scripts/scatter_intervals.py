"""Check the alignment files against the reference and write one BED file a chunk."""

import argparse
from pathlib import Path

from haplowave import cli
from haplowave.plan import remove_other_chunks, write_chunks


def main(arguments: argparse.Namespace) -> None:
    write_chunks(
        reference=arguments.reference,
        samples=arguments.samples,
        contig_source=arguments.contig_source,
        regions=arguments.regions,
        names=arguments.contigs,
        chunk_size=arguments.chunk_size,
        outputs=arguments.output,
    )
    if arguments.clean:
        remove_other_chunks(arguments.clean, [Path(output).stem for output in arguments.output])


if __name__ == "__main__":
    parser = cli.parser(__doc__)
    parser.add_argument("--reference", required=True, help="FASTA with its index beside it")
    parser.add_argument("--samples", required=True, help="sample sheet")
    parser.add_argument("--contig-source", required=True, help=".fai, BAM or CRAM that names the contigs in the order of the chunks")
    parser.add_argument("--regions", help="BED of where to call (default: everywhere)")
    parser.add_argument("--contigs", nargs="+", default=[], help="contigs to call on (default: all)")
    parser.add_argument("--chunk-size", type=int, required=True, help="positions of a chunk")
    parser.add_argument("--output", nargs="+", required=True, help="one BED a chunk, as many as there are chunks")
    parser.add_argument("--clean", help="folder of results from which files of other chunks are removed")
    cli.run(main, parser)
