"""Regions with known genotypes, as evidence in memory and as tables: reads drawn from true haplotypes.

A read's likelihood under a haplotype falls by a fixed amount for each event in the read's window that the haplotype and the
read's own do not share: what PairHMM gives for a base of quality 30 or a gap of quality 45.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from haplowave.calling.genotype_evidence import Evidence, Reads
from haplowave.calling.genotype_sites import Event
from haplowave.io.samples import Sample
from haplowave.tables import table_writer

SNV_COST, INDEL_COST = -3.5, -4.4
Haplotype = tuple[Event, ...]


def sample(name: str = "one", ploidy: int = 2, platform: str = "illumina") -> Sample:
    return Sample(name, platform, ploidy, (Path("reads.bam"),))


def region(
    truth: Sequence[Sequence[Haplotype]],
    candidates: Sequence[Haplotype],
    depth: int | Sequence[int] = 30,
    *,
    start: int = 1000,
    end: int = 1200,
    read_length: int = 150,
    error: float = 0.002,
    seed: int = 1,
    contig: str = "chr1",
) -> Evidence:
    """`truth`: one list of haplotypes a sample (its ploidy); `depth`: reads over each position, one number or one a sample."""
    random = np.random.default_rng(seed)
    events = ((), *candidates)
    depths = [depth] * len(truth) if isinstance(depth, int) else depth
    rows: list[dict] = []
    log10: list[list[float]] = []
    for number, (haplotypes, own_depth) in enumerate(zip(truth, depths, strict=True)):
        count = round(own_depth * (end - start + read_length) / read_length)
        for begin in random.integers(start - read_length, end, count):
            window = (int(begin), int(begin) + read_length)
            source = haplotypes[random.integers(len(haplotypes))]
            seen = {event for haplotype in events for event in haplotype if window[0] <= event.pos < window[1]}
            carried = {event for event in seen if (event in source) != (random.random() < error)}
            log10.append([sum(_cost(event) for event in carried ^ (seen & set(haplotype))) - 0.1 for haplotype in events])
            rows.append({"sample": number, "fragment": len(rows), "reverse": random.random() < 0.5, "start": window[0], "end": window[1]})
    return Evidence(contig, start, end, events, _reads(rows, read_length), np.array(log10).reshape(len(rows), len(events)))


def _cost(event: Event) -> float:
    return SNV_COST if event.is_snv else INDEL_COST


def _reads(rows: Sequence[dict], read_length: int) -> Reads:
    def column(name: str, kind: type = np.int64) -> np.ndarray:
        return np.array([row[name] for row in rows], kind)

    full = np.full(len(rows), read_length)
    return Reads(
        sample=column("sample"),
        fragment=column("fragment"),
        reverse=column("reverse", bool),
        mapq=np.full(len(rows), 60),
        length=full,
        start=column("start"),
        end=column("end"),
        offset=np.zeros(len(rows), np.int64),
        whole=full,
    )


def write_tables(folder: Path, regions: Sequence[Evidence], samples: Sequence[Sample]) -> dict[str, Path]:
    """The four tables of `regions`; paths by table name. A read's name is its fragment's number."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {name: folder / f"{name}.parquet" for name in ("regions", "haplotypes", "reads", "likelihoods")}
    with table_writer(paths["regions"], "regions") as table:
        for one in regions:
            table.append(_fill(table, {"region_id": [one.start], "contig": [one.contig], "start": [one.start], "end": [one.end]}))
    with table_writer(paths["haplotypes"], "haplotypes") as table:
        for one in regions:
            count = len(one.events)
            columns = {"hap_id": range(count), "is_reference": [number == 0 for number in range(count)]}
            columns["events"] = [[event._asdict() for event in events] for events in one.events]
            table.append(_fill(table, {"region_id": [one.start] * count, **columns}))
    with table_writer(paths["reads"], "reads") as table:
        for one in regions:
            table.append(_fill(table, _read_columns(one, samples)))
    with table_writer(paths["likelihoods"], "likelihoods") as table:
        for one in regions:
            count, haplotypes = one.log10.shape
            columns = {"read_id": np.repeat(np.arange(count), haplotypes), "hap_id": np.tile(np.arange(haplotypes), count)}
            table.append(_fill(table, {"region_id": [one.start] * one.log10.size, **columns, "log10_likelihood": one.log10.ravel()}))
    return paths


def _read_columns(one: Evidence, samples: Sequence[Sample]) -> dict:
    reads = one.reads
    return {
        "region_id": [one.start] * len(reads),
        "read_id": range(len(reads)),
        "sample": [samples[number].name for number in reads.sample],
        "name": [f"fragment{number}" for number in reads.fragment],
        "flag": np.where(reads.reverse, 16, 0),
        "mapq": reads.mapq,
        "bases": ["A" * length for length in reads.length],
        "start": reads.start,
        "end": reads.end,
        "offset": reads.offset,
        "read_length": reads.whole,
    }


def _fill(table, columns: dict) -> dict:
    """`columns` and an empty value for each other column of the table."""
    count = len(columns["region_id"])
    empty = {"int32": 0, "int64": 0, "double": 0.0, "bool": False, "binary": b""}
    return {field.name: columns.get(field.name, [empty.get(str(field.type), "")] * count) for field in table.schema}
