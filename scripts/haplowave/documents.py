"""Schemas and reference pages, written from the code that they describe."""

from collections.abc import Mapping
from typing import Any

import yaml

from haplowave.config import SECTIONS, schema
from haplowave.io.samples import MAX_PLOIDY, OPTIONAL_COLUMNS, PLATFORMS, REQUIRED_COLUMNS
from haplowave.tables.io import read_text_schema
from haplowave.tables.schemas import FORMAT_VERSION, SCHEMAS

_MADE = "Made by `python scripts/document.py`; edit the code that it names, not this page."

_SHEET = {
    "sample": "name of the individual; several rows with one name are several files of one sample",
    "reads": "sorted, indexed BAM or CRAM; relative paths are taken from the folder of the sheet",
    "platform": "sequencing technology, which decides on default penalties and read handling",
    "ploidy": "copies of each contig",
}

_TABLES = {
    "regions": "find_regions: where reads disagree with the reference",
    "haplotypes": "extract_pairs: candidate haplotypes of each region",
    "reads": "extract_pairs: the pieces of reads that PairHMM compares with the region's haplotypes",
    "distances": "compute_distances: edit distances of all pairs",
    "likelihoods": "compute_likelihoods: the product of the workflow, read by the genotyper and by others",
}


def all_documents() -> dict[str, str]:
    """Path relative to the repository -> content."""
    return {
        "workflow/schemas/config.schema.yaml": yaml.safe_dump(schema(), sort_keys=False, width=120, allow_unicode=True),
        "workflow/schemas/samples.schema.yaml": yaml.safe_dump(sheet_schema(), sort_keys=False, width=120, allow_unicode=True),
        "docs/configuration.md": configuration_page(),
        "docs/tables.md": tables_page(),
    }


def sheet_schema() -> dict[str, Any]:
    """JSON schema of one row of the sample sheet."""
    properties: dict[str, Any] = {name: {"type": "string", "description": _SHEET[name]} for name in REQUIRED_COLUMNS}
    properties["platform"]["enum"] = list(PLATFORMS)
    properties["ploidy"] = {"type": "integer", "minimum": 1, "maximum": MAX_PLOIDY, "default": 2, "description": _SHEET["ploidy"]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "description": "One row of the sample sheet. Written by scripts/document.py from scripts/haplowave/io/samples.py.",
        "type": "object",
        "required": list(REQUIRED_COLUMNS),
        "properties": properties,
    }


def configuration_page() -> str:
    """docs/configuration.md."""
    rules = schema()
    top = {key: rule for key, rule in rules["properties"].items() if key not in SECTIONS}
    parts = [
        "# Configuration",
        _MADE + " Sources: `scripts/haplowave/config.py`, `scripts/haplowave/options.py`, `scripts/haplowave/io/samples.py`.",
        "A YAML file, given with `--configfile`. Relative paths are taken from the folder of the file that names them; a path from "
        "`--config` or from a default is taken from the working directory. Unknown keys are errors, and all problems are reported at once "
        "before the first job.",
        _option_table(top, rules["required"]),
        "`evaluation` maps names of samples to:",
        _option_table(rules["properties"]["evaluation"]["additionalProperties"]["properties"], ["truth"]),
    ]
    for section, rule in rules["properties"].items():
        if section in SECTIONS:
            parts += [f"## {section}", f"{_sentence(rule['description'])}", _option_table(rule["properties"], [])]
    columns = [(name, "yes" if name in REQUIRED_COLUMNS else "no", _values(_sheet_rule(name)), _SHEET[name]) for name in _SHEET]
    parts += [
        "## The sample sheet",
        "Tab-separated, with a header; empty lines and lines that begin with `#` are left out.",
        _markdown(("column", "required", "values", "meaning"), columns),
    ]
    return "\n\n".join(parts) + "\n"


def _sheet_rule(name: str) -> Mapping[str, Any]:
    return sheet_schema()["properties"][name] if name in REQUIRED_COLUMNS + OPTIONAL_COLUMNS else {}


def _option_table(properties: Mapping[str, Any], required: list[str]) -> str:
    rows = [
        (f"`{key}`", "required" if key in required else f"`{_default(rule.get('default'))}`", _values(rule), rule["description"])
        for key, rule in properties.items()
    ]
    return _markdown(("key", "default", "values", "meaning"), rows)


def _default(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if value != "" else '""'


def _values(rule: Mapping[str, Any]) -> str:
    if "enum" in rule:
        return ", ".join(map(str, rule["enum"]))
    kinds = rule.get("type", "string")
    text = " or ".join(kinds) if isinstance(kinds, list) else kinds
    low, high = rule.get("minimum"), rule.get("maximum")
    if low is not None and high is not None:
        return f"{text}, {low} to {high}"
    if low is not None:
        return f"{text}, at least {low}"
    return text if high is None else f"{text}, at most {high}"


def tables_page() -> str:
    """docs/tables.md."""
    parts = [
        "# Tables",
        _MADE + " Source: `scripts/haplowave/tables/schemas.py`.",
        "Parquet files, one a chunk: `RESULTS/tables/TABLE/CHUNK.parquet`. The file's metadata carry the table's name as `haplowave_table` "
        f"and the format version, {FORMAT_VERSION}, as `haplowave_version`; a reader refuses other versions and tables that lack a column.",
        "All coordinates are 0-based and half-open, on the forward strand of the reference. `region_id` is (index of the contig in the "
        "reference) × 2³² + start of the region: it does not depend on how the genome was cut into chunks, and sorting by it sorts by "
        "position. Rows are sorted by `region_id`, then `read_id`, then `hap_id`, and a region never straddles two row groups, so that "
        "a table can be read region by region in little memory. Text columns of few values are dictionary-encoded.",
        "`distances` and `likelihoods`, which have a row a pair, are compressed with LZ4 (the codec LZ4_RAW) and have statistics of "
        "`region_id` alone; likelihoods are split into streams of bytes (BYTE_STREAM_SPLIT), and a row group has 131,072 rows or more. "
        "Other tables are compressed with ZSTD. Any reader of Parquet 2.9 or newer reads them.",
        "`python scripts/export.py TABLE.parquet` prints any of them as TSV: events as `pos:ref>alt`, qualities as FASTQ writes them.",
    ]
    for name in SCHEMAS:
        rows = [(f"`{column}`", _type_name(kind), text) for column, kind, text in read_text_schema(name)]
        parts += [f"## {name}", f"Written by {_TABLES[name]}.", _markdown(("column", "type", "meaning"), rows)]
    return "\n\n".join(parts) + "\n"


def _markdown(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def _type_name(kind: str) -> str:
    return "string (dictionary)" if kind.startswith("dictionary") else kind
