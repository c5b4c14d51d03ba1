"""List the OpenCL devices of this machine, fastest first, and the kernel variants that each would get."""

import argparse

from haplowave import cli
from haplowave.opencl import list_devices
from haplowave.pairhmm.engines import choose

_COLUMNS = ("index", "kind", "units", "memory_gib", "fp64", "subgroups", "kernel", "name")


def main(arguments: argparse.Namespace) -> None:
    rows = [_COLUMNS]
    for index, device in enumerate(list_devices(arguments.threads)):
        kernel = choose(device)
        if kernel == "lanes":
            kernel += f" x{device.vector_width}"
        fp64 = "yes" if device.has_fp64 else "no"
        memory = f"{device.global_memory / 2**30:.1f}"
        name = f"{device.name} [{device.platform_name}]"
        rows.append((str(index), device.kind, str(device.compute_units), memory, fp64, device.subgroup_variant, kernel, name))
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS) - 1)]
    for row in rows:
        print("  ".join([*(cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=True)), row[-1]]))


if __name__ == "__main__":
    parser = cli.parser(__doc__)
    parser.add_argument("--threads", type=int, help="threads of a CPU device (default: the cores of this process)")
    cli.run(main, parser)
