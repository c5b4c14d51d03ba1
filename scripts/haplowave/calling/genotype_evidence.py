"""One region's haplotypes, reads and likelihoods as arrays, read from the tables as a stream."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from haplowave.calling.genotype_sites import Event
from haplowave.errors import UserError
from haplowave.io.samples import Sample
from haplowave.tables import iterate_regions, join_regions


@dataclass(frozen=True)
class Reads:
    """Reads of one region, one entry a read in each array."""

    sample: np.ndarray
    """index of the sample in the sheet, int"""
    fragment: np.ndarray
    """number of the fragment within the region: mates share it, int"""
    reverse: np.ndarray
    """on the reverse strand, bool"""
    mapq: np.ndarray
    """mapping quality, int"""
    length: np.ndarray
    """bases of the piece, int"""
    start: np.ndarray
    """first reference position of the piece, int"""
    end: np.ndarray
    """reference position after its last, int"""
    offset: np.ndarray
    """place of the piece's first base in the whole read, int"""
    whole: np.ndarray
    """length of the whole read, int"""

    def __len__(self) -> int:
        return len(self.sample)

    def take(self, chosen: np.ndarray) -> "Reads":
        """The reads where `chosen` (bool or indices)."""
        return Reads(**{name: values[chosen] for name, values in vars(self).items()})


@dataclass(frozen=True)
class Evidence:
    """One region. `events`: those of each haplotype, haplotype 0 has none; `log10`: (reads, haplotypes), -inf where no pair was made."""

    contig: str
    start: int
    end: int
    events: tuple[tuple[Event, ...], ...]
    reads: Reads
    log10: np.ndarray

    def take_reads(self, chosen: np.ndarray) -> "Evidence":
        return replace(self, reads=self.reads.take(chosen), log10=self.log10[chosen])

    def take_haplotypes(self, chosen: np.ndarray) -> "Evidence":
        return replace(self, events=tuple(self.events[index] for index in chosen), log10=self.log10[:, chosen])


def iterate_evidence(
    regions: str | Path, haplotypes: str | Path, reads: str | Path, likelihoods: str | Path, samples: Sequence[Sample]
) -> Iterator[Evidence]:
    """Regions that have haplotypes, in order of the genome. Raises UserError where the tables do not belong together."""
    paths = {"regions": regions, "haplotypes": haplotypes, "reads": reads, "likelihoods": likelihoods}
    number_of = {sample.name: number for number, sample in enumerate(samples)}
    streams = [iterate_regions(path, name) for name, path in paths.items()]
    for region_id, (region, haplotype_rows, read_rows, likelihood_rows) in join_regions(*streams):
        if region is None:
            raise UserError(f"{regions}: region {region_id} is missing, other tables have it; give tables of one run")
        if haplotype_rows is None:
            continue
        hap_ids = _numbers(haplotype_rows, "hap_id")
        read_table = _reads(read_rows, number_of, reads)
        log10 = np.full((len(read_table), len(hap_ids)), -np.inf)
        if likelihood_rows is not None:
            read_ids = _numbers(read_rows, "read_id") if read_rows is not None else np.empty(0, np.int64)
            rows = _places(read_ids, _numbers(likelihood_rows, "read_id"), likelihoods, region_id, "read_id")
            columns = _places(hap_ids, _numbers(likelihood_rows, "hap_id"), likelihoods, region_id, "hap_id")
            log10[rows, columns] = _numbers(likelihood_rows, "log10_likelihood")
        where = region.slice(0, 1).to_pylist()[0]
        yield Evidence(where["contig"], where["start"], where["end"], _events(haplotype_rows, hap_ids, haplotypes), read_table, log10)


def _numbers(table: pa.Table, column: str) -> np.ndarray:
    return table.column(column).to_numpy()


def _places(known: np.ndarray, wanted: np.ndarray, path: str | Path, region_id: int, column: str) -> np.ndarray:
    """Index in `known` (ascending) of each of `wanted`."""
    places = np.searchsorted(known, wanted)
    if len(wanted) and (not len(known) or places.max() >= len(known) or (known[places] != wanted).any()):
        raise UserError(f"{path}: region {region_id} has a {column} that its own table lacks; give tables of one run")
    return places


def _events(rows: pa.Table, hap_ids: np.ndarray, path: str | Path) -> tuple[tuple[Event, ...], ...]:
    if not len(hap_ids) or hap_ids[0] != 0 or (np.diff(hap_ids) <= 0).any():
        raise UserError(f"{path}: haplotypes of a region must be numbered upwards from 0, the reference; make the table again")
    return tuple(
        tuple(sorted(Event(event["pos"], event["ref"], event["alt"]) for event in events)) for events in rows.column("events").to_pylist()
    )


def _reads(rows: pa.Table | None, number_of: dict[str, int], path: str | Path) -> Reads:
    if rows is None:
        none = np.empty(0, np.int64)
        return Reads(none, none, none.astype(bool), none, none, none, none, none, none)
    names = rows.column("sample").to_pylist()
    unknown = sorted(set(names) - set(number_of))
    if unknown:
        raise UserError(f"{path}: sample {unknown[0]} is not in the sample sheet; give the sheet that the table was made with")
    fragments: dict[tuple[str, str], int] = {}
    keys = zip(names, rows.column("name").to_pylist(), strict=True)
    return Reads(
        sample=np.array([number_of[name] for name in names], np.int64),
        fragment=np.array([fragments.setdefault(key, len(fragments)) for key in keys], np.int64),
        reverse=(_numbers(rows, "flag") & 0x10) != 0,
        mapq=_numbers(rows, "mapq"),
        length=pc.binary_length(rows.column("bases")).to_numpy().astype(np.int64),
        start=_numbers(rows, "start"),
        end=_numbers(rows, "end"),
        offset=_numbers(rows, "offset"),
        whole=_numbers(rows, "read_length"),
    )
