"""Suite `distance`: edit distance of long strings, by every strategy, beside what the literature reaches.

Parts: `literature`, the pairs of Tables 2 and 3 of Castells-Rufas 2023 (real ones where --data holds them, otherwise simulated with the
same lengths and about the same distance); `ladder`, its Fig. 12, all designs on one pair; `random`, strings that share nothing;
`auto`, the named strategies beside the choice among them, and `alignment`, paths beside distances, both on the real pairs of --data and
on simulated ones; `short` and `affine`, batches; `devices`, one pair on one device and on all of its model. Suite `distance_cpu` has
other programs beside these on a CPU.
"""

import argparse
from pathlib import Path

import numpy as np

from haplowave.benchmark.records import Record, print_table

PARTS = ("literature", "ladder", "random", "auto", "alignment", "short", "affine", "devices")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--parts", default=",".join(PARTS), help=f"of {', '.join(PARTS)}, separated by commas")
    parser.add_argument("--strategies", default="auto", help="of the literature's pairs, separated by commas (default: auto)")
    parser.add_argument(
        "--ladder-pair", default="2", metavar="EXPERIMENT", help="row of Table 3 that the ladder climbs (default: 2; the paper: 4)"
    )
    parser.add_argument(
        "--largest", type=float, metavar="N", help="longest string of a pair (default: 65 million on a GPU, 400,000 on a CPU)"
    )
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with expected.tsv and FASTA files NAME.fa.gz of real pairs")
    parser.add_argument(
        "--repeats",
        type=int,
        default=3,
        help="runs of a measurement, where one takes under 1 s; parts auto and alignment take up to 15 (default: 3)",
    )


def run(arguments: argparse.Namespace) -> list[Record]:
    from haplowave.benchmark import distance_batches as batches
    from haplowave.benchmark import distance_choices as choices
    from haplowave.benchmark import distance_parts as parts
    from haplowave.benchmark.distance_plots import draw
    from haplowave.errors import UserError
    from haplowave.opencl import alike, select

    chosen = arguments.parts.split(",")
    unknown = sorted(set(chosen) - set(PARTS))
    if unknown:
        raise UserError(f"--parts {','.join(unknown)}: unknown; choose of {', '.join(PARTS)}")
    device = select(arguments.device, arguments.threads)
    largest = arguments.largest or (65e6 if device.kind == "gpu" else 4e5)
    setting = parts.Setting(device, arguments.repeats, arguments.data, 2e5 if arguments.quick else largest, arguments.quick)
    print(f"device: {device.name} ({device.platform_name}); seconds from strings in memory to the result, kernels compiled")
    setting.warm()
    records: list[Record] = []
    if "literature" in chosen:
        records += _shown(parts.literature(setting, arguments.strategies.split(",")), parts.LITERATURE_COLUMNS)
    if "ladder" in chosen:
        records += _shown(parts.ladder(setting, arguments.ladder_pair), parts.LADDER_COLUMNS)
    if "random" in chosen:
        records += _shown(parts.unrelated(setting), parts.RANDOM_COLUMNS)
    if "auto" in chosen:
        records += _shown(choices.choices(setting), choices.AUTO_COLUMNS)
    if "alignment" in chosen:
        records += _shown(choices.alignments(setting), choices.ALIGNMENT_COLUMNS)
    if "short" in chosen:
        records += _shown(batches.short(device, arguments.repeats, 100_000 if arguments.quick else 1_000_000, False), batches.BATCH_COLUMNS)
    if "affine" in chosen:
        records += _shown(batches.affine(device, arguments.repeats, 2_000 if arguments.quick else 20_000), batches.BATCH_COLUMNS)
    if "devices" in chosen and (others := alike(device)):
        records += _shown(choices.shared(setting, others), choices.DEVICES_COLUMNS)
    if arguments.plots:
        draw(records, Path(arguments.plots))
    return [{key: _plain(value) for key, value in record.items()} for record in records]


def _shown(records: list[Record], columns: tuple[str, ...]) -> list[Record]:
    print()
    print_table(records, columns)
    return records


def _plain(value: object) -> str | int | float:
    return value.item() if isinstance(value, np.generic) else value  # type: ignore[return-value]
