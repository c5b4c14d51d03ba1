"""The table of FASTA files to compare: tab-separated, columns pair (a name), query and target (paths)."""

import re
from pathlib import Path

COLUMNS = ("pair", "query", "target")
_NAME = re.compile(r"[A-Za-z0-9][\w.+-]*")


def parse_pairs(path: Path) -> tuple[dict[str, tuple[Path, Path]], list[str]]:
    """(query and target of each pair, one message a problem); relative paths are taken from the table's folder."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        return {}, [f"{path}: table of pairs cannot be read ({reason}); give a tab-separated text file"]
    numbered = [(number, line.split("\t")) for number, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")]
    if not numbered or tuple(numbered[0][1]) != COLUMNS:
        return {}, [f"{path}: the first line must name the columns {', '.join(COLUMNS)}, separated by tabs"]
    pairs: dict[str, tuple[Path, Path]] = {}
    problems = []
    for number, values in numbered[1:]:
        where = f"{path} line {number}"
        if len(values) != len(COLUMNS):
            problems.append(f"{where}: has {len(values)} columns, not {len(COLUMNS)}; separate them by single tabs")
            continue
        name = values[0]
        if not _NAME.fullmatch(name):
            problems.append(f"{where}, column pair: '{name}' cannot be part of a file name; use letters, digits and . _ + -")
        elif name in pairs:
            problems.append(f"{where}, column pair: '{name}' stands there twice; give each pair a name of its own")
        files = [path.parent / Path(value).expanduser() for value in values[1:]]
        for column, file in zip(COLUMNS[1:], files, strict=True):
            if not file.is_file():
                problems.append(f"{where}, column {column}: no such file {file}; correct the path")
        pairs[name] = (files[0], files[1])
    return pairs, problems
