"""PairHMM on a CPU, next to Intel's GKL where that is installed, in turns on the same pairs.

Wall-clock rates mean something on a quiet machine only; the rate a second of processor time also on a busy one. Ours counts the time of
the OpenCL runtime's threads (all of the process less the thread that prepares and collects), GKL's that of its whole process.
"""

import argparse
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from haplowave.benchmark.pairhmm_cpu_sets import SIZES, Pairs, synthetic, tables, testcases, write_testcases
from haplowave.benchmark.records import print_table
from haplowave.errors import UserError

_JAVA = Path("/usr/share/java")
_JARS = ("gkl", "gatk-native-bindings", "commons-logging", "commons-io", "log4j-1.2")
_COLUMNS = ("experiment", "engine", "precision", "threads", "pairs", "mcells", "seconds", "gcups", "gcups_a_cpu_second", "call_seconds")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of this suite: what to measure (default: synthetic pairs of a range of sizes) and how."""
    parser.add_argument("--size", action="append", default=[], metavar="RxH", help="synthetic pairs: read x haplotype length")
    parser.add_argument("--text", action="append", default=[], metavar="FILE", help="the testcases of this file")
    parser.add_argument("--tables", nargs=2, action="append", default=[], metavar=("HAPLOTYPES", "READS"), help="the pairs of two tables")
    parser.add_argument("--rounds", type=int, default=9, help="times that each engine computes each set, in turns (default: 9)")
    parser.add_argument("--gkl", action="store_true", help="also measure Intel GKL (Debian: libgkl-java, libgkl-jni, a JDK of 17 or newer)")


def run(arguments: argparse.Namespace) -> list[dict]:
    """Print the table; one record an engine, set and precision."""
    from haplowave.opencl import select

    device = select("cpu" if arguments.device == "auto" else arguments.device, arguments.threads)
    given = arguments.size or arguments.text or arguments.tables
    sizes = [_size(text) for text in arguments.size] if given else SIZES[: 1 if arguments.quick else None]
    sets = [synthetic(*size) for size in sizes]
    sets += [testcases(path) for path in arguments.text] + [tables(*paths) for paths in arguments.tables]
    records = []
    for pairs in sets:
        for precision in ("fp32", "fp64"):
            engines = [_Ours(device, pairs, precision, share) for share in (False, True)]
            with tempfile.TemporaryDirectory() as folder:
                if arguments.gkl:
                    engines.append(_Gkl(Path(folder), pairs, precision, device.threads))
                for _ in range(3 if arguments.quick else arguments.rounds):
                    for engine in engines:
                        engine.round()
                for engine in engines:
                    engine.close()
            records += [engine.record(pairs, precision, device) for engine in engines]
    print_table(records, _COLUMNS)
    return records


def _size(text: str) -> tuple[int, int]:
    rows, _, columns = text.partition("x")
    if not (rows.isdecimal() and columns.isdecimal() and 0 < int(rows) <= int(columns)):
        raise UserError(f"--size {text}: expected two lengths such as 152x304, the read not longer than the haplotype")
    return int(rows), int(columns)


@dataclass
class _Times:
    name: str
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    call: list[float] = field(default_factory=list)

    def close(self) -> None:
        """Nothing to end."""

    def record(self, pairs: Pairs, precision: str, device) -> dict:
        return {
            "experiment": pairs.name,
            "engine": self.name,
            "device": device.name,
            "kernel": "lanes" if self.name != "gkl" else "gkl",
            "precision": precision,
            "threads": device.threads,
            "read_length": float(np.mean(pairs.reads.bases.lengths)),
            "haplotype_length": float(np.mean(pairs.haplotypes.lengths)),
            "pairs": len(pairs.pairs),
            "mcells": pairs.cells / 1e6,
            "seconds": min(self.wall),
            "gcups": pairs.cells / min(self.wall) / 1e9,
            "gcups_a_cpu_second": pairs.cells / max(min(self.cpu), 1e-9) / 1e9,
            "call_seconds": min(self.call),
        }


class _Ours(_Times):
    def __init__(self, device, pairs: Pairs, precision: str, share: bool):
        super().__init__("haplowave, sharing" if share else "haplowave")
        self._arguments = {"device": device, "precision": "auto" if precision == "fp32" else precision, "kernel": "lanes"}
        self._arguments |= {"share_duplicates": share, "share_prefixes": share}
        self._pairs = pairs

    def round(self) -> None:
        from haplowave.pairhmm import log10_likelihoods

        call, process, own = time.perf_counter(), time.process_time(), time.thread_time()
        result = log10_likelihoods(self._pairs.reads, self._pairs.haplotypes, self._pairs.pairs, **self._arguments)
        own, process = time.thread_time() - own, time.process_time() - process
        self.call.append(time.perf_counter() - call)
        self.wall.append(result.kernel_seconds)
        self.cpu.append(process - own)


class _Gkl(_Times):
    """A Java process that computes the set once for each line it is sent."""

    def __init__(self, folder: Path, pairs: Pairs, precision: str, threads: int):
        super().__init__("gkl")
        self._times = max(1, round(2e8 / max(pairs.cells, 1)))  # the JVM's clock of processor time ticks in hundredths of a second
        path = folder / "testcases.txt"
        write_testcases(path, pairs, self._times)
        command = ["java", "--class-path", ":".join(str(_JAVA / f"{jar}.jar") for jar in _JARS), "-Djava.library.path=/usr/lib/jni"]
        command += [str(Path(__file__).with_name("GklPairHmm.java")), str(path), str(threads), "float" if precision == "fp32" else "double"]
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1
            )
        except FileNotFoundError as error:
            raise UserError("--gkl: no java; install a JDK, libgkl-java and libgkl-jni, or leave --gkl out") from error

    def round(self) -> None:
        self._process.stdin.write("round\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("RESULT "):
                wall, cpu, _ = (float(value) / self._times for value in line.split()[1:])
                self.wall.append(wall)
                self.cpu.append(cpu)
                self.call.append(wall)
                return
        raise UserError("--gkl: the Java program ended early; are libgkl-java and libgkl-jni installed, and the JDK 17 or newer?")

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait(30)
