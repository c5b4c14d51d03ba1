"""BED files and chunks: nothing lost, nothing twice, whatever the chunk size."""

import gzip
import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haplowave.errors import UserError
from haplowave.io.intervals import Interval, bed_text, chunk_names, cut, merge, parse_bed, target_intervals

CONTIGS = {"2": 500, "HLA:01*1": 90, "1": 1000}


def bed(folder: Path, text: str) -> Path:
    path = folder / "x.bed"
    path.write_text(text)
    return path


def test_bed_with_headers_names_and_spaces(tmp_path: Path) -> None:
    text = "track name=x\n#c\nbrowser y\n1\t10\t20\tgene\t0\t+\nHLA:01*1 0 90\n\n"
    assert parse_bed(bed(tmp_path, text), CONTIGS) == ([Interval("1", 10, 20), Interval("HLA:01*1", 0, 90)], [], [])


def test_bed_may_be_gzipped(tmp_path: Path) -> None:
    path = tmp_path / "x.bed.gz"
    path.write_bytes(gzip.compress(b"1\t10\t20\n"))
    assert parse_bed(path, CONTIGS) == ([Interval("1", 10, 20)], [], [])
    path.write_bytes(path.read_bytes()[:-9])
    _, (message,), _ = parse_bed(path, CONTIGS)
    assert message == f"{path}: BED file cannot be read (neither text nor gzipped text); correct the path"


def test_a_contig_may_be_named_like_the_beginning_of_a_header(tmp_path: Path) -> None:
    assert parse_bed(bed(tmp_path, "track7\t1\t2\n"), {"track7": 9})[0] == [Interval("track7", 1, 2)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("1\t30\t20", "line 2, columns 2-3: start 30 is after end 20"),
        ("1\t-1\t20", "line 2, column 2: '-1' is not a position"),
        ("1\t1\t2e3", "line 2, column 3: '2e3' is not a position"),
        ("1\t1\t1001", "line 2, column 3: end 1001 is past the end of 1 (1000)"),
        ("chr1\t1\t100", "line 2, column 1: contig 'chr1' is not in the reference; it has 2, HLA:01*1, 1"),
        ("1\t1", "line 2: has 2 column(s)"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, line: str, expected: str) -> None:
    _, errors, _ = parse_bed(bed(tmp_path, f"1\t0\t5\n{line}\n1\t6\t7\n{line}\n"), CONTIGS)
    assert len(errors) == 2
    assert expected in errors[0]
    assert "line 4" in errors[1]


def test_many_bad_lines_do_not_flood(tmp_path: Path) -> None:
    _, errors, _ = parse_bed(bed(tmp_path, "x\t0\t5\n" * 1000), CONTIGS)
    assert len(errors) == 21
    assert errors[-1].endswith("980 more lines are wrong")


def test_empty_intervals_are_left_out_with_a_warning(tmp_path: Path) -> None:
    intervals, errors, warnings = parse_bed(bed(tmp_path, "1\t5\t5\n"), CONTIGS)
    assert (intervals, errors) == ([], [])
    assert "1 5 5 is empty" in warnings[0]
    assert "holds no interval" in warnings[1]


def test_targets_follow_the_reference_and_both_restrictions() -> None:
    intervals = [Interval("1", 5, 9), Interval("2", 7, 8), Interval("1", 0, 5), Interval("1", 20, 30), Interval("1", 22, 25)]
    assert target_intervals(CONTIGS, intervals, []) == [Interval("2", 7, 8), Interval("1", 0, 9), Interval("1", 20, 30)]
    assert target_intervals(CONTIGS, intervals, ["2"]) == [Interval("2", 7, 8)]
    assert target_intervals(CONTIGS, None, ["1", "2"]) == [Interval("2", 0, 500), Interval("1", 0, 1000)]
    with pytest.raises(UserError, match="'chr1' is not in the reference"):
        target_intervals(CONTIGS, None, ["chr1"])


def test_small_contigs_share_a_chunk() -> None:
    chunks = cut([Interval(f"scaffold{index}", 0, 10) for index in range(1000)], 1000)
    assert [len(chunk) for chunk in chunks] == [100] * 10


def test_no_interval_is_one_empty_chunk() -> None:
    assert cut([], 100) == [[]]
    assert bed_text([]) == ""


def test_names_are_numbers_that_sort() -> None:
    assert chunk_names(3) == ["00001", "00002", "00003"]


@given(
    st.lists(st.tuples(st.sampled_from(sorted(CONTIGS)), st.integers(0, 80), st.integers(1, 900)), max_size=30),
    st.integers(1, 700),
)
def test_chunks_hold_every_position_once(raw: list[tuple[str, int, int]], chunk_size: int) -> None:
    intervals = [Interval(contig, min(start, CONTIGS[contig] - 1), min(start + length, CONTIGS[contig])) for contig, start, length in raw]
    wanted = {(interval.contig, at) for interval in intervals for at in range(interval.start, interval.end)}
    chunks = cut(merge(intervals, CONTIGS), chunk_size)
    positions = [(part.contig, at) for chunk in chunks for part in chunk for at in range(part.start, part.end)]
    assert len(positions) == len(set(positions))
    assert set(positions) == wanted
    order = [(list(CONTIGS).index(contig), at) for contig, at in positions]
    assert order == sorted(order)
    assert all(sum(map(len, chunk)) <= chunk_size for chunk in chunks)
    # neighbours would not have fitted into one chunk
    assert all(sum(map(len, left)) + len(right[0]) > chunk_size for left, right in itertools.pairwise(chunks))
