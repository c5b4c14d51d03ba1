"""Every threshold of the pipeline, once: the configuration, the command flags and the documentation come from here.

A section of the configuration file is one dataclass; a key is one field.
"""

from dataclasses import dataclass, field
from typing import Any


def option(default: Any, help: str, **metadata: Any) -> Any:
    """A dataclass field with its documentation; metadata: minimum, maximum (inclusive), choices."""
    return field(default=default, metadata={"help": help, **metadata})
