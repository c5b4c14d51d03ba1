"""The pairs summary and the text of tables, on tables written by hand."""

import io
from collections import Counter
from pathlib import Path

from haplowave.calling.pairs import COLUMNS, PairCounts, spread, write_pairs
from haplowave.io.samples import Sample
from haplowave.tables import table_writer
from haplowave.tables.schemas import SCHEMAS
from haplowave.tables.text import write_text


def write_haplotypes(path: Path) -> Path:
    with table_writer(path, "haplotypes") as writer:
        for region, sequences in ((5, ["ACGT", "ACGTAC"]), (9, ["A" * 10])):
            events = [[], [{"pos": 7, "ref": "T", "alt": "TAC"}]][: len(sequences)]
            writer.append(
                {
                    "region_id": [region] * len(sequences),
                    "hap_id": list(range(len(sequences))),
                    "start": [0] * len(sequences),
                    "end": [4] * len(sequences),
                    "sequence": sequences,
                    "is_reference": [index == 0 for index in range(len(sequences))],
                    "events": events,
                }
            )
    return path


def write_reads(path: Path) -> Path:
    with table_writer(path, "reads") as writer:
        for region, rows in ((5, [("a", "ACG"), ("a", "AC"), ("b", "A")]), (9, [("a", "ACGTA")])):
            number = len(rows)
            columns = {field.name: [0] * number for field in SCHEMAS["reads"]}
            columns |= {"region_id": [region] * number, "read_id": list(range(number)), "name": ["r"] * number}
            columns |= {"sample": [name for name, _ in rows], "bases": [bases for _, bases in rows]}
            quals = [bytes([0, 40, 93, 2, 2][: len(bases)]) for _, bases in rows]
            columns |= dict.fromkeys(("base_quals", "insertion_quals", "deletion_quals", "gap_quals"), quals)
            writer.append(columns)
    return path


def test_every_read_is_paired_with_every_haplotype_of_its_region(tmp_path: Path) -> None:
    counts = PairCounts()
    counts.add(write_haplotypes(tmp_path / "h.parquet"), write_reads(tmp_path / "r.parquet"))
    samples = [Sample("b", "ont", 2, ()), Sample("a", "illumina", 2, ()), Sample("c", "hifi", 2, ())]
    write_pairs(counts, samples, tmp_path / "pairs.tsv")
    assert [line.split("\t") for line in (tmp_path / "pairs.tsv").read_text().splitlines()] == [
        list(COLUMNS),
        ["b", "ont", "2", "1", "1", "1", "4", "4", "6", "10"],
        ["a", "illumina", "5", "2", "3", "5", "4", "6", "10", "100"],
        ["c", "hifi", "0", "0", "0", "0", "0", "0", "0", "0"],
    ]


def test_spread_of_a_histogram() -> None:
    assert spread(Counter()) == (0, 0, 0)
    assert spread(Counter({3: 1, 9: 2, 4: 2})) == (3, 4, 9)


def test_text_of_a_table(tmp_path: Path) -> None:
    out = io.StringIO()
    write_text(write_haplotypes(tmp_path / "h.parquet"), out)
    assert [line.split("\t") for line in out.getvalue().splitlines()] == [
        ["region_id", "hap_id", "start", "end", "sequence", "is_reference", "events"],
        ["5", "0", "0", "4", "ACGT", "true", "."],
        ["5", "1", "0", "4", "ACGTAC", "false", "7:T>TAC"],
        ["9", "0", "0", "4", "A" * 10, "true", "."],
    ]
    out = io.StringIO()
    write_text(write_reads(tmp_path / "r.parquet"), out)
    assert out.getvalue().splitlines()[1].split("\t")[7] == "!I~"


def test_an_empty_table_has_a_header(tmp_path: Path) -> None:
    with table_writer(tmp_path / "x.parquet", "distances"):
        pass
    out = io.StringIO()
    write_text(tmp_path / "x.parquet", out)
    assert out.getvalue() == "region_id\tread_id\thap_id\tedit_distance\n"
