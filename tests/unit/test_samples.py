"""The sample sheet: what it means, and that every problem is named with its line, column and value."""

from pathlib import Path

import pytest

from haplowave.errors import UserError
from haplowave.io.samples import Sample, parse_samples, read_samples


def write(folder: Path, *lines: str) -> Path:
    path = folder / "samples.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def problems(folder: Path, *lines: str) -> list[str]:
    return parse_samples(write(folder, *lines))[1]


def test_rows_of_one_sample_are_its_files(tmp_path: Path) -> None:
    sheet = write(
        tmp_path,
        "sample\treads\tplatform\tploidy",
        "a\tx/1.bam\tillumina\t",
        "# a remark",
        "",
        "b\t/abs/2.cram\tont\t4",
        "a\t3.bam\tillumina\t2",
    )
    assert read_samples(sheet) == [
        Sample("a", "illumina", 2, (tmp_path / "x/1.bam", tmp_path / "3.bam")),
        Sample("b", "ont", 4, (Path("/abs/2.cram"),)),
    ]


def test_other_columns_and_their_order_do_not_matter(tmp_path: Path) -> None:
    sheet = write(tmp_path, "platform\tsex\tsample\treads", "hifi\tf\ta\tx.bam")
    assert read_samples(sheet)[0].platform == "hifi"


@pytest.mark.parametrize("header", ["sample\treads\tplatform", "#sample\treads\tplatform", "# sample\treads\tplatform"])
def test_remarks_may_come_first_and_the_header_may_look_like_one(tmp_path: Path, header: str) -> None:
    sheet = write(tmp_path, "# of 2026", "", header, "#b\ty.bam\tont", "a\tx.bam\tont")
    assert read_samples(sheet) == [Sample("a", "ont", 2, (tmp_path / "x.bam",))]


def test_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "samples.tsv"
    path.write_bytes(b"\xef\xbb\xbfsample\treads\tplatform\r\na\tx.bam\t10x\r\n")
    assert read_samples(path)[0] == Sample("a", "10x", 2, (tmp_path / "x.bam",))


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("\tx.bam\tillumina\t2", "line 2, column sample: is empty"),
        ("a b\tx.bam\tillumina\t2", "line 2, column sample: 'a b' cannot name a sample"),
        ("../a\tx.bam\tillumina\t2", "line 2, column sample: '../a' cannot name a sample"),
        ("a\t\tillumina\t2", "line 2, column reads: is empty"),
        ("a\tx.bam\tIllumina\t2", "line 2, column platform: 'Illumina' is not one of illumina, hifi, ont, 10x"),
        ("a\tx.bam\tillumina\t0", "line 2, column ploidy: '0' is not a whole number from 1 to 16"),
        ("a\tx.bam\tillumina\ttwo", "line 2, column ploidy: 'two'"),
        ("a\tx.bam\tillumina\t2\tmore", "line 2: 5 values for 4 columns"),
    ],
)
def test_a_bad_value_is_named(tmp_path: Path, row: str, expected: str) -> None:
    found = problems(tmp_path, "sample\treads\tplatform\tploidy", row)
    assert len(found) == 1
    assert expected in found[0]
    assert "\n" not in found[0]


def test_all_problems_are_reported_at_once(tmp_path: Path) -> None:
    found = problems(
        tmp_path, "sample\treads\tplatform\tploidy", "a\tx.bam\tpacbio\t9999", "\ty.bam\tont\t2", "c\tz.bam\tont\t2", "c\tw.bam\thifi\t3"
    )
    assert [message.split(":")[0].rsplit("/", 1)[1] for message in found] == [
        "samples.tsv line 2, column platform",
        "samples.tsv line 2, column ploidy",
        "samples.tsv line 3, column sample",
        "samples.tsv line 5, column platform",
        "samples.tsv line 5, column ploidy",
    ]
    with pytest.raises(UserError, match=r"line 2.*line 5") as error:
        read_samples(tmp_path / "samples.tsv")
    assert "\n" not in str(error.value)


def test_a_file_in_two_rows(tmp_path: Path) -> None:
    found = problems(tmp_path, "sample\treads\tplatform", "a\tx.bam\tont", "b\tx.bam\tont")
    assert found == [f"{tmp_path}/samples.tsv line 3, column reads: 'x.bam' is also in line 2; keep one"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], "is empty"),
        (["sample\treads\tplatform"], "has no samples"),
        (["sample\treads"], "column platform is missing"),
        (["sample,reads,platform", "a,x.bam,ont"], "column sample is missing"),
        (["sample\treads\tplatform\tploidi", "a\tx\tont\t2"], "column 'ploidi' is unknown; did you mean ploidy?"),
        (["sample\treads\tplatform\tsample", "a\tx\tont\tb"], "column 'sample' occurs twice"),
    ],
)
def test_a_bad_header(tmp_path: Path, lines: list[str], expected: str) -> None:
    assert any(expected in message for message in problems(tmp_path, *lines))


def test_no_sheet_and_no_text(tmp_path: Path) -> None:
    assert "cannot be read (No such file or directory)" in parse_samples(tmp_path / "none.tsv")[1][0]
    (tmp_path / "x.tsv").write_bytes(b"\xff\xfe\x00a")
    assert "not UTF-8 text" in parse_samples(tmp_path / "x.tsv")[1][0]
