"""What every command shares: options from dataclasses, one-line errors, the closing line with time and memory."""

import argparse
import dataclasses
import math
import re
import resource
import sys
import time
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from haplowave import __version__
from haplowave.errors import UserError


def parser(description: str) -> argparse.ArgumentParser:
    """An ArgumentParser with --version and --debug, the same in every command."""
    result = argparse.ArgumentParser(description=description)
    result.add_argument("--version", action="version", version=f"haplowave {__version__}")
    result.add_argument("--debug", action="store_true", help="show the traceback of errors")
    return result


def add_inputs(target: argparse.ArgumentParser) -> None:
    """--reference, --index-dir, --samples: what every step that reads alignments or writes calls is given."""
    target.add_argument("--reference", required=True, type=Path, metavar="FASTA", help="reference, plain or bgzipped")
    target.add_argument("--index-dir", type=Path, metavar="DIR", help="where the index of the reference is, if not beside it")
    target.add_argument("--samples", required=True, type=Path, metavar="TSV", help="sample sheet")


def positive(text: str) -> int:
    """The value of a flag that counts something; argparse tells the user what is wrong with another."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is below 1; give 1 or more")
    return value


def _value_type(annotation: typing.Any) -> type:
    members = [member for member in typing.get_args(annotation) if member is not type(None)]
    return members[0] if members else annotation


def add_options(target: argparse.ArgumentParser, options: type) -> None:
    """Add one flag for each field of the dataclass `options`: name with dashes, its default, metadata['help'] and ['choices']."""
    group = target.add_argument_group(options.__name__, (options.__doc__ or "").splitlines()[0])
    hints = typing.get_type_hints(options)
    for field in dataclasses.fields(options):
        kind = _value_type(hints[field.name])
        arguments = {
            "default": field.default,
            "help": f"{field.metadata['help']} (default: {field.default})".replace("%", "%%"),
        }
        if kind is bool:
            arguments["action"] = argparse.BooleanOptionalAction
        else:
            arguments["type"] = kind
            arguments["choices"] = field.metadata.get("choices")
            arguments["metavar"] = kind.__name__.upper() if not arguments["choices"] else None
        group.add_argument("--" + field.name.replace("_", "-"), **arguments)


def options_from(arguments: argparse.Namespace, options: type) -> typing.Any:
    """An instance of `options` from parsed flags. Raises UserError for a value outside of its limits."""
    values = {field.name: getattr(arguments, field.name) for field in dataclasses.fields(options)}
    for field in dataclasses.fields(options):
        _check_limits("--" + field.name.replace("_", "-"), values[field.name], field.metadata)
    return options(**values)


def _check_limits(flag: str, value: typing.Any, limits: Mapping[str, typing.Any]) -> None:
    if value is None:
        return
    if isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"{flag}: {value} is not a finite number; correct it")
    if limits.get("minimum") is not None and value < limits["minimum"]:
        raise UserError(f"{flag}: {value} is below the minimum {limits['minimum']}; correct it")
    if limits.get("maximum") is not None and value > limits["maximum"]:
        raise UserError(f"{flag}: {value} is above the maximum {limits['maximum']}; correct it")
    if limits.get("pattern") and not re.search(limits["pattern"], value):
        raise UserError(f"{flag}: '{value}' has not the form of the default; correct it")


def run(main: Callable[[argparse.Namespace], None], target: argparse.ArgumentParser, argv: Sequence[str] | None = None) -> None:
    """Parse, call `main`, exit: 0 on success, 1 with one line on standard error for a UserError."""
    arguments = target.parse_args(argv)
    began = time.perf_counter()
    try:
        main(arguments)
    except UserError as error:
        if arguments.debug:
            raise
        sys.exit(f"haplowave: error: {error}")
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{target.prog}: {time.perf_counter() - began:.1f} s, peak memory {peak:.0f} MiB", file=sys.stderr)
