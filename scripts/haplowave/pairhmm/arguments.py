"""The flags that every command with PairHMM has, and the line that it ends with."""

from argparse import ArgumentParser, BooleanOptionalAction, Namespace

from haplowave.opencl import Device, alike, select
from haplowave.pairhmm.api import PRECISIONS
from haplowave.pairhmm.engines import ENGINES
from haplowave.pairhmm.totals import Totals


def add_arguments(target: ArgumentParser) -> None:
    """--device, --share-devices, --threads, --kernel, --precision, --share-duplicates, --share-prefixes."""
    target.add_argument("--device", default="auto", help="auto, cpu, gpu, an index or part of a name of devices.py (default: auto)")
    target.add_argument("--share-devices", action="store_true", help="use all devices of the model of --device together")
    target.add_argument("--threads", type=int, metavar="N", help="threads of a CPU device (default: the cores this process may use)")
    target.add_argument("--kernel", default="auto", choices=("auto", *ENGINES), help="how to compute (default: auto, by the device)")
    target.add_argument(
        "--precision",
        default="auto",
        choices=PRECISIONS,
        help="auto: FP32, and FP64 where GATK would; fp32: FP64 only where FP32 fails; fp64 (default: auto)",
    )
    for name, what in (("duplicates", "equal reads"), ("prefixes", "equal beginnings of haplotypes")):
        target.add_argument(
            f"--share-{name}", action=BooleanOptionalAction, default=True, help=f"compute {what} once; the result is the same either way"
        )


def engine_arguments(arguments: Namespace) -> dict:
    """Keyword arguments of `log10_likelihoods` from parsed flags."""
    names = ("kernel", "precision", "share_duplicates", "share_prefixes")
    device = select(arguments.device, arguments.threads)
    others = alike(device) if arguments.share_devices else ()
    return {"device": device, "others": others} | {name: getattr(arguments, name) for name in names}


def summary(totals: Totals, seconds: float, device: Device) -> str:
    """One line: pairs, cells, seconds, GCUPS, rescued."""
    rate = totals.cells / max(totals.kernel_seconds, 1e-9) / 1e9
    left_out = max(0.0, 1 - totals.cells_computed / max(totals.cells, 1))
    return (
        f"{totals.pairs} pairs, {totals.cells} cells ({left_out:.1%} not computed), {seconds:.2f} s, kernel {totals.kernel_seconds:.3f} s "
        f"= {rate:.2f} GCUPS, {totals.rescued} pairs rescued in FP64, on {device.name}"
    )
