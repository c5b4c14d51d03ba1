"""The configuration: its schema, its checks, and how its paths are found.

The schema is built from the option dataclasses, so that a threshold has one default and one description;
`scripts/document.py` writes it to workflow/schemas/config.schema.yaml and docs/configuration.md.
"""

import difflib
import math
import os
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from haplowave import options
from haplowave.options import option

PATH_KEYS = ("samples", "reference", "regions", "results")
_TYPES = {int: "integer", float: "number", bool: "boolean", str: "string"}


@dataclass(frozen=True)
class OpenclOptions:
    """Where and how the OpenCL steps run; none of it changes a result."""

    device: str = option(
        "auto", "OpenCL device: auto (the fastest), cpu, gpu, an index or a part of the name as `python scripts/devices.py` lists them"
    )
    precision: str = option(
        "auto", "floating point of PairHMM; auto is fp32 with the rescue of small results in fp64", choices=("auto", "fp32", "fp64")
    )
    kernel: str = option(
        "auto", "PairHMM kernel; auto takes the device's fastest", choices=("auto", "reference", "lanes", "skewed", "trees", "rowwise")
    )
    share_devices: bool = option(False, "a PairHMM job uses all devices of the model of `device` together; run one such job at a time")
    batch_size: int = option(524288, "read-haplotype pairs that a device gets at a time: bounds memory", minimum=1)
    threads: int = option(4, "threads of a job of the OpenCL steps on a CPU device", minimum=1)


@dataclass(frozen=True)
class EditDistanceOptions:
    """Pairs of FASTA files whose edit distances are wanted, beside the calling or alone."""

    pairs: str | None = option(None, "TSV with columns pair, query, target: FASTA files of which every record is compared with every other")
    alignment: bool = option(False, "write optimal alignments too, as PAF")


SECTIONS: dict[str, tuple[str, str]] = {
    # section: (dataclass, what it is about)
    "opencl": ("OpenclOptions", "where and how the OpenCL steps run"),
    "active_regions": ("RegionOptions", "which places of the genome are looked at more closely"),
    "haplotypes": ("HaplotypeOptions", "which haplotypes a region gets"),
    "reads": ("ReadOptions", "which reads are compared with them, and with which qualities"),
    "pruning": ("PruningOptions", "which pairs need no PairHMM"),
    "genotyping": ("GenotypeOptions", "from likelihoods to calls"),
    "edit_distance": ("EditDistanceOptions", "long strings to compare"),
}


def section_class(section: str) -> type | None:
    """The dataclass behind a section of the configuration."""
    name = SECTIONS[section][0]
    return globals().get(name) or getattr(options, name, None)


def schema() -> dict[str, Any]:
    """JSON schema (draft 2020-12) of the configuration; every property has a description and, unless required, a default."""
    properties: dict[str, Any] = {
        "samples": {
            "type": "string",
            "minLength": 1,
            "description": "sample sheet (TSV): columns sample, reads, platform, optionally ploidy",
        },
        "reference": {
            "type": "string",
            "minLength": 1,
            "description": "reference FASTA, plain or bgzipped; indexed under results where it has no .fai",
        },
        "regions": {"type": ["string", "null"], "default": None, "description": "BED file of where to call; null: everywhere"},
        "contigs": {
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "default": [],
            "description": "names of the contigs to call on; empty: all. With regions: both must hold",
        },
        "results": {
            "type": "string",
            "minLength": 1,
            "default": "results",
            "description": "folder for everything that the workflow writes",
        },
        "chunk_size": {
            "type": "integer",
            "minimum": 1000,
            "default": 10_000_000,
            "description": "positions that one job of each step works on; short contigs share a chunk. Does not change a result",
        },
        "evaluation": {
            "type": "object",
            "default": {},
            "description": "samples with known truth: name: {truth: VCF, confident: BED}",
            "additionalProperties": {
                "type": "object",
                "additionalProperties": False,
                "required": ["truth"],
                "properties": {
                    "truth": {"type": "string", "minLength": 1, "description": "VCF of the true variants"},
                    "confident": {
                        "type": ["string", "null"],
                        "default": None,
                        "description": "BED of where the truth is known; null: everywhere",
                    },
                },
            },
        },
    }
    for section, (_, about) in SECTIONS.items():
        cls = section_class(section)
        if cls is not None:
            properties[section] = {
                "type": "object",
                "default": {},
                "description": about,
                "additionalProperties": False,
                "properties": {item.name: _property(item, typing.get_type_hints(cls)[item.name]) for item in fields(cls)},
            }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Configuration of haplowave",
        "description": "Written by scripts/document.py from scripts/haplowave/config.py and options.py.",
        "type": "object",
        "additionalProperties": False,
        "required": ["samples", "reference"],
        "properties": properties,
    }


def _property(item: Any, annotation: Any) -> dict[str, Any]:
    members = typing.get_args(annotation)
    kinds = [_TYPES[kind] for kind in members or (annotation,) if kind in _TYPES] + (["null"] if type(None) in members else [])
    metadata = item.metadata
    result: dict[str, Any] = {"type": kinds if len(kinds) > 1 else kinds[0], "description": metadata["help"]}
    if item.default is not MISSING:
        result["default"] = item.default
    for key in ("minimum", "maximum", "pattern"):
        if metadata.get(key) is not None:
            result[key] = metadata[key]
    if metadata.get("choices"):
        result["enum"] = list(metadata["choices"])
    return result


@dataclass(frozen=True)
class Config:
    """A checked configuration; all paths absolute. `sections[section]` is an instance of that section's dataclass."""

    samples: Path
    reference: Path
    results: Path
    regions: Path | None = None
    contigs: Sequence[str] = ()
    chunk_size: int = 10_000_000
    evaluation: Mapping[str, Mapping[str, Path | None]] = field(default_factory=dict)
    sections: Mapping[str, Any] = field(default_factory=dict)

    def flags(self, section: str) -> list[str]:
        """The section's options as command-line flags of the steps: all of them, so that a changed default is a changed command."""
        result = []
        for item in fields(self.sections[section]):
            value, name = getattr(self.sections[section], item.name), item.name.replace("_", "-")
            if isinstance(value, bool):
                result.append(f"--{name}" if value else f"--no-{name}")
            elif value is not None:
                result.append(f"--{name}={value}")
        return result


def check(raw: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """(`raw` with defaults filled in and numbers that came as text converted, problems: one line each)."""
    rules = schema()
    filled = _fill(raw, rules)
    validator = jsonschema.Draft202012Validator(rules)
    errors = sorted(validator.iter_errors(filled), key=lambda error: list(map(str, error.path)))
    mistyped = [error.path for error in errors if error.validator == "type"]
    # a value of the wrong type is not also too small
    errors = [error for error in errors if error.validator == "type" or error.path not in mistyped]
    problems = [message for error in errors for message in _explain(error)]
    return filled, list(dict.fromkeys(problems)) or _contradictions(filled)


def _contradictions(filled: Mapping[str, Any]) -> list[str]:
    """Values that are each allowed but do not go together."""
    pruning, genotyping = filled["pruning"], filled["genotyping"]
    if pruning["prune"] and pruning["prune_quality"] < genotyping["mismapping_quality"]:
        return [
            f"config key pruning.prune_quality: {pruning['prune_quality']} is below genotyping.mismapping_quality "
            f"{genotyping['mismapping_quality']}, so that pruning would change calls; raise it or set pruning.prune to false"
        ]
    return []


def _fill(value: Any, rules: Mapping[str, Any]) -> Any:
    kinds = rules.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if isinstance(value, str) and kinds and "string" not in kinds:
        # `--config` of Snakemake hands on nested values as text
        loaded = yaml.safe_load(value)
        return loaded if not isinstance(loaded, dict | list) else value
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # YAML's .nan and .inf: JSON schema would let them pass any limit
    if isinstance(value, int | float) and kinds == ["string"] and not isinstance(value, bool):
        return str(value)  # an index of a device, a contig named 20
    if value is None and "object" in kinds:
        return _fill({}, rules)  # a section whose lines are all commented out
    if isinstance(value, list | tuple) and "items" in rules:
        return [_fill(item, rules["items"]) for item in value]
    if isinstance(value, Mapping):
        known = rules.get("properties", {})
        other = rules.get("additionalProperties")
        result = {str(key): _fill(item, known.get(key, other if isinstance(other, dict) else {})) for key, item in value.items()}
        for key, rule in known.items():
            if key not in result and "default" in rule:
                result[key] = _fill(rule["default"], rule)
        return result
    return value


def _explain(error: jsonschema.ValidationError) -> Iterator[str]:
    key = ".".join(str(part) for part in error.absolute_path)
    rules, value = error.schema, error.instance
    if error.validator == "additionalProperties":
        known = list(rules.get("properties", {}))
        for name in sorted(set(value) - set(known)):
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"allowed: {', '.join(known)}"
            yield f"config key {key + '.' if key else ''}{name}: is unknown; {hint}"
    elif error.validator == "required":
        for name in rules["required"]:
            if name not in value:
                about = rules["properties"][name]["description"]
                yield f"config key {key + '.' if key else ''}{name}: is missing; give the {about}"
    elif error.validator == "enum":
        yield f"config key {key}: '{value}' is not one of {', '.join(map(str, rules['enum']))}"
    elif error.validator == "pattern" and "default" in rules:
        yield f"config key {key}: {value!r} has not the form of the default {rules['default']!r}; correct it"
    elif error.validator in ("minimum", "maximum"):
        word = "below the minimum" if error.validator == "minimum" else "above the maximum"
        yield f"config key {key}: {value} is {word} {rules[error.validator]}; correct it"
    elif error.validator == "type":
        kinds = rules["type"] if isinstance(rules["type"], list) else [rules["type"]]
        yield f"config key {key}: {value!r} is not of type {' or '.join(kinds)}; {rules.get('description', 'correct it')}"
    else:
        yield f"config key {key}: {error.message}; correct it"


def resolve(raw: Mapping[str, Any], config_files: Sequence[Path]) -> tuple[Config | None, list[str]]:
    """(checked configuration with absolute paths, problems). `config_files`: those that `raw` was merged from, the last wins.

    A relative path is taken from the folder of the file that names it; one that stands in no file (`--config`, a default,
    a configuration made by another workflow's code) from the working directory.
    """
    filled, problems = check(raw)
    if problems:
        return None, problems
    loaded = [(file, content) for file in config_files if (content := load(file)) is not None]

    def absolute(value: str | None, *keys: str) -> Path | None:
        return None if value is None else Path(os.path.normpath(_folder(loaded, keys, value) / Path(value).expanduser()))

    paths = {key: absolute(filled[key], key) for key in PATH_KEYS}
    evaluation = {
        sample: {kind: absolute(path, "evaluation", sample, kind) for kind, path in entry.items()}
        for sample, entry in filled["evaluation"].items()
    }
    sections = {section: section_class(section)(**filled[section]) for section in SECTIONS if section_class(section) is not None}
    pairs = absolute(filled["edit_distance"]["pairs"], "edit_distance", "pairs")
    sections["edit_distance"] = replace(sections["edit_distance"], pairs=None if pairs is None else str(pairs))
    rest = {"contigs": tuple(filled["contigs"]), "chunk_size": filled["chunk_size"]}
    return Config(**paths, **rest, evaluation=evaluation, sections=sections), []


def load(path: Path) -> Any:
    """A YAML or JSON file; None where it cannot be read (Snakemake has read it before and complained)."""
    try:
        return yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError, UnicodeDecodeError):
        return None


def _folder(loaded: Sequence[tuple[Path, Any]], keys: Sequence[str], value: str) -> Path:
    for file, content in reversed(loaded):
        if _names(content, keys, value):
            return Path(file).absolute().parent
    return Path.cwd()


def _names(content: Any, keys: Sequence[str], value: str) -> bool:
    """Whether `value` stands under `keys` at the top of `content` or in a section of it (a workflow that imports this one as a module)."""
    if not isinstance(content, Mapping):
        return False
    place: Any = content
    for key in keys:
        place = place.get(key) if isinstance(place, Mapping) else None
    return place == value or any(_names(item, keys, value) for item in content.values())
