"""Size, depth and platforms of a simulated data set."""

from dataclasses import dataclass, fields

from haplowave.errors import UserError
from haplowave.options import option


@dataclass(frozen=True)
class SimulationOptions:
    """Simulated data: the same values give the same bytes."""

    seed: int = option(1, "seed of every random number", minimum=0)
    size: int = option(104_000, "length of the reference, all contigs together, bp", minimum=20_000)
    short_depth: float = option(30.0, "depth of paired 2x150 reads in each of the two samples sequenced so", minimum=0)
    long_depth: float = option(20.0, "depth of long reads in the third sample", minimum=0)
    long_platform: str = option("hifi", "kind of the long reads", choices=("hifi", "ont"))
    chunk_size: int = option(25_000, "chunk size written into the configuration, bp", minimum=1000)

    def check(self) -> None:
        """Raises UserError for a value below its minimum."""
        for field in fields(self):
            least = field.metadata.get("minimum")
            if least is not None and getattr(self, field.name) < least:
                flag = field.name.replace("_", "-")
                raise UserError(f"--{flag} {getattr(self, field.name)}: is below the minimum; give {least} or more")
