"""The configuration: one line a problem, defaults from the option classes, paths from the file that names them."""

import dataclasses
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from haplowave import config
from haplowave.config import SECTIONS, check, resolve, schema, section_class

ROOT = Path(__file__).resolve().parents[2]
MINIMAL: dict[str, Any] = {"samples": "s.tsv", "reference": "r.fa"}


def test_defaults_are_those_of_the_option_classes() -> None:
    checked, problems = resolve(MINIMAL, [])
    assert problems == []
    assert checked is not None
    for section in SECTIONS:
        assert checked.sections[section] == section_class(section)()


@pytest.mark.parametrize("section", SECTIONS)
def test_every_option_is_documented_and_its_default_is_valid(section: str) -> None:
    cls = section_class(section)
    assert cls is not None
    rules = schema()["properties"][section]["properties"]
    assert list(rules) == [field.name for field in dataclasses.fields(cls)]
    for name, rule in rules.items():
        assert rule["description"], name
        jsonschema.validate(rule["default"], rule)


def test_every_property_has_a_description_and_a_default_or_is_required() -> None:
    rules = schema()
    jsonschema.Draft202012Validator.check_schema(rules)
    for name, rule in rules["properties"].items():
        assert rule["description"]
        assert ("default" in rule) != (name in rules["required"])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"opencl": {"devise": "cpu"}}, "config key opencl.devise: is unknown; did you mean device?"),
        ({"chunksize": 5}, "config key chunksize: is unknown; did you mean chunk_size?"),
        ({"zzz": 5}, "config key zzz: is unknown; allowed: samples, reference"),
        ({"opencl": {"precision": "fp16"}}, "config key opencl.precision: 'fp16' is not one of auto, fp32, fp64"),
        ({"chunk_size": 10}, "config key chunk_size: 10 is below the minimum 1000"),
        ({"chunk_size": "big"}, "config key chunk_size: 'big' is not of type integer"),
        (
            {"active_regions": {"min_alternative_fraction": 1.5}},
            "config key active_regions.min_alternative_fraction: 1.5 is above the maximum 1",
        ),
        ({"chunk_size": 1.5}, "config key chunk_size: 1.5 is not of type integer"),
        ({"genotyping": {"low_quality": float("nan")}}, "config key genotyping.low_quality: 'nan' is not of type number"),
        ({"haplotypes": {"assembly_kmers": "25,x"}}, "config key haplotypes.assembly_kmers: '25,x' has not the form of the default '25,35"),
        ({"samples": None}, "config key samples: None is not of type string"),
        ({"evaluation": {"a": {"confident": "x.bed"}}}, "config key evaluation.a.truth: is missing"),
        ({"evaluation": {"a": {"truth": "x.vcf", "bed": "x"}}}, "config key evaluation.a.bed: is unknown"),
    ],
)
def test_a_problem_is_one_line_that_names_the_key(change: dict[str, Any], expected: str) -> None:
    _, problems = check(MINIMAL | change)
    assert len(problems) == 1
    assert problems[0].startswith(expected)
    assert "\n" not in problems[0]


def test_pruning_may_not_change_calls() -> None:
    _, problems = check(MINIMAL | {"genotyping": {"mismapping_quality": 60}})
    assert problems == [
        "config key pruning.prune_quality: 45.0 is below genotyping.mismapping_quality 60, so that pruning would change calls; "
        "raise it or set pruning.prune to false"
    ]
    assert check(MINIMAL | {"genotyping": {"mismapping_quality": 60}, "pruning": {"prune": False}})[1] == []


def test_all_problems_at_once() -> None:
    _, problems = check({"opencl": {"kernel": "x", "batch_size": 0}, "sample": 1})
    assert len(problems) == 5  # two in opencl, one unknown, two missing


def test_text_of_the_command_line_becomes_numbers() -> None:
    checked, problems = resolve(MINIMAL | {"opencl": {"batch_size": "64", "device": 0}, "haplotypes": None}, [])
    assert problems == []
    assert checked is not None
    assert checked.sections["opencl"].batch_size == 64
    assert checked.sections["opencl"].device == "0"
    assert checked.sections["haplotypes"] == section_class("haplotypes")()


def test_paths_come_from_the_file_that_names_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("base", "over", "work"):
        (tmp_path / name).mkdir()
    base, over = tmp_path / "base/a.yaml", tmp_path / "over/b.yaml"
    base.write_text("samples: s.tsv\nreference: r.fa\nevaluation: {x: {truth: t.vcf}}\n")
    over.write_text("reference: other.fa\nresults: ../out\n")
    merged = yaml.safe_load(base.read_text()) | yaml.safe_load(over.read_text()) | {"regions": "x.bed"}
    monkeypatch.chdir(tmp_path / "work")
    checked, _ = resolve(merged, [base, over])
    assert checked is not None
    assert checked.samples == tmp_path / "base/s.tsv"
    assert checked.reference == tmp_path / "over/other.fa"
    assert checked.results.resolve() == tmp_path / "out"
    assert checked.regions == tmp_path / "work/x.bed"  # as of --config
    assert checked.evaluation == {"x": {"truth": tmp_path / "base/t.vcf", "confident": None}}


def test_paths_of_an_imported_module_come_from_the_importing_config(tmp_path: Path) -> None:
    file = tmp_path / "host.yaml"
    inner = MINIMAL | {"results": "mine"}
    file.write_text(yaml.safe_dump({"calling": inner, "results": "of the host"}))
    checked, _ = resolve(inner, [file])
    assert checked is not None
    assert checked.results == tmp_path / "mine"


def test_flags_name_every_option() -> None:
    checked, _ = resolve(MINIMAL | {"haplotypes": {"assembly": False}}, [])
    assert checked is not None
    flags = checked.flags("haplotypes")
    assert "--no-assembly" in flags
    assert len(flags) == len([item for item in dataclasses.fields(section_class("haplotypes")) if item.default is not None])


def test_the_shipped_configuration_is_valid() -> None:
    path = ROOT / "config/config.yaml"
    checked, problems = resolve(config.load(path), [path])
    assert problems == []
    assert checked is not None
    assert checked.results.resolve() == ROOT / "results"
