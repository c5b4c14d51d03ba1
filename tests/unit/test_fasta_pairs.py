"""The table of FASTA pairs: all its problems at once, by line and column; and its way through the configuration into the plan."""

from pathlib import Path

import pytest
import yaml

from haplowave.config import check
from haplowave.io.fasta_pairs import parse_pairs
from haplowave.plan import PlanError, make_plan


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.fa", "b b.fa"):
        (tmp_path / name).write_text(">x\nACGT\n")
    return tmp_path


def test_pairs_in_order_with_paths_from_the_tables_folder(folder):
    (folder / "pairs.tsv").write_text("# ours\npair\tquery\ttarget\nfirst\ta.fa\tb b.fa\n\nsecond\tb b.fa\ta.fa\n")
    pairs, problems = parse_pairs(folder / "pairs.tsv")
    assert problems == []
    assert list(pairs.items()) == [("first", (folder / "a.fa", folder / "b b.fa")), ("second", (folder / "b b.fa", folder / "a.fa"))]


def test_all_problems_at_once(folder):
    (folder / "pairs.tsv").write_text("pair\tquery\ttarget\na/b\ta.fa\tb b.fa\nx\ta.fa\nx\ta.fa\tnone.fa\nx\ta.fa\ta.fa\n")
    problems = parse_pairs(folder / "pairs.tsv")[1]
    starts = [
        "line 2, column pair: 'a/b'",
        "line 3: has 2 columns",
        "line 4, column target: no such file",
        "line 5, column pair: 'x' stands",
    ]
    assert [any(start in problem for problem in problems) for start in starts] == [True] * 4
    assert len(problems) == 4
    (folder / "pairs.tsv").write_text("pair query target\n")
    assert "the first line must name the columns" in parse_pairs(folder / "pairs.tsv")[1][0]
    assert "cannot be read" in parse_pairs(folder / "absent.tsv")[1][0]


def test_the_plan_has_the_pairs_of_the_configuration(simulated: Path, folder: Path):
    (folder / "pairs.tsv").write_text("pair\tquery\ttarget\nfirst\ta.fa\tb b.fa\n")
    raw = yaml.safe_load((simulated / "config.yaml").read_text()) | {
        "edit_distance": {"pairs": str(folder / "pairs.tsv"), "alignment": True}
    }
    plan = make_plan(raw, [simulated / "config.yaml"])
    assert (list(plan.pairs), plan.aligned_pairs) == (["first"], True)
    raw["edit_distance"]["pairs"] = str(folder / "absent.tsv")
    with pytest.raises(PlanError, match=r"absent.tsv: table of pairs cannot be read"):
        make_plan(raw, [simulated / "config.yaml"])
    assert any("edit_distance.pair" in problem for problem in check({**raw, "edit_distance": {"pair": "x"}})[1])
