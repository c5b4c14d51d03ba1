"""Alignments in the report: points that lie on the path, identities that add up to the matches."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from haplowave.distance import cigar
from haplowave.report.alignments import AlignmentPath, alignment_paths
from haplowave.report.page import _strings


@pytest.mark.parametrize("text", ["", "3=", "12=1X1000003=2I3D4=10D", "1X"])
def test_cigar_text_and_back(text):
    assert cigar.parse(text).cigar == text


def test_what_is_no_cigar_is_refused():
    for text in ("=", "3M", "3=4", "3==", "x"):
        with pytest.raises(ValueError, match="no CIGAR"):
            cigar.parse(text)


def test_points_and_identity_of_a_path():
    path = AlignmentPath.of(cigar.parse("100=50X200D50="))
    target, query = path.points()
    assert list(zip(query, target, strict=True)) == [(0, 0), (100, 100), (150, 150), (150, 350), (200, 400)]
    middle, share = path.identity()
    widths = np.full(len(middle), 200 / len(middle))
    assert np.isclose((np.array(share) / 100 * widths).sum(), 150)
    assert share[0] == share[-1] == 100
    assert min(share) == 0


def test_points_of_a_long_path_are_few_and_hold_the_long_gaps():
    rng = np.random.default_rng(1)
    operations = np.tile([0, 1, 0, 2, 0, 3], 3000).astype(np.uint8)
    counts = rng.integers(1, 20, len(operations))
    counts[9003] = 5000
    path = AlignmentPath.of(cigar.runs(operations, counts))
    target, query = path.points()
    assert len(target) < 700
    assert any(b - a == 5000 for a, b in pairwise(query))
    assert (target[-1], query[-1]) == (path.target[-1], path.query[-1])


def test_section_of_the_report(tmp_path: Path):
    columns = ["query", "target", "query_length", "target_length", "distance", "similarity", "strategy", "seconds", "gcups", "cells"]
    for name in ("first", "second"):
        values = ["q", "t", "1000", "1200", "200", "0.833333", "wfa", "0.0123", "1", "1"]
        (tmp_path / f"{name}.tsv").write_text("\t".join(columns) + "\n" + "\t".join(values) + "\n")
    (tmp_path / "first.paf").write_text("q\t1000\t0\t1000\t+\tt\t1200\t0\t1200\t1000\t1200\t255\tNM:i:200\tcg:Z:500=200D500=\n")
    assert list(alignment_paths([tmp_path / "first.paf"])) == ["first: q, t"]
    section = _strings([tmp_path / "first.tsv", tmp_path / "second.tsv"])
    assert section is not None
    assert [row[0] for row in section["tables"][0]["rows"]] == ["first", "second"]
    assert section["tables"][0]["rows"][0][3:7] == ["1,000", "1,200", "200", "83.333"]
    assert [caption for caption, svg in section["figures"]] == ["Paths of the alignments", "Identity along the query"]
    assert all(svg.startswith("<svg") for _, svg in section["figures"])
    assert _strings([]) is None
