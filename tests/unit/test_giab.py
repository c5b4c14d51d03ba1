"""The list of public data is complete and usable."""

import csv
from pathlib import Path
from urllib.parse import urlparse

from haplowave.io.samples import PLATFORMS, read_samples

ROOT = Path(__file__).resolve().parents[2]


def rows() -> list[dict[str, str]]:
    with (ROOT / "resources" / "giab.tsv").open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def test_the_seven_data_sets_of_the_paper_are_listed_once():
    assert sorted(int(row["reference"]) for row in rows()) == list(range(32, 39))
    assert len({row["name"] for row in rows()}) == len({row["technology"] for row in rows()}) == 7


def test_every_row_can_be_fetched_and_put_into_a_sheet():
    for row in rows():
        address = urlparse(row["url"])
        assert (address.scheme, address.netloc) == ("https", "ftp-trace.ncbi.nlm.nih.gov")
        assert address.path.endswith(".bam")
        assert not set(row["url"]) & set(" \t")
        assert row["index_url"] in ("", row["url"] + ".bai")
        assert row["platform"] in PLATFORMS
        assert row["build"] in ("GRCh37", "GRCh38")
        assert row["contigs"] == "all" or row["contigs"].startswith("chr") == (row["build"] == "GRCh38")
        assert len(row["md5"]) in (0, 32)


def test_the_example_s_sheet_names_data_sets_of_the_list():
    names = {row["name"]: row for row in rows()}
    for sample in read_samples(ROOT / "config" / "giab.samples.tsv"):
        for path in sample.reads:
            assert names[path.stem]["sample"] == sample.name
            assert names[path.stem]["platform"] == sample.platform
