"""Where the weights of ``acm_linear`` are kept: a file of JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from router_service.routers.settings import RoutersSettings
from techniques.parts.linear import Artifact

SettingsT = TypeVar("SettingsT", bound=RoutersSettings)


def read(path: Path) -> Artifact:
    """Return the weights in the file at *path*.

    Raises:
        OSError: It cannot be read.
        ValueError: It holds no weights, or they are not what was written.
    """
    return Artifact.model_validate_json(path.read_bytes())


def write(artifact: Artifact, path: Path) -> None:
    """Keep *artifact* in the file at *path*; who reads it finds the old or the new one, whole."""
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(artifact.model_dump_json(indent=1) + "\n", encoding="utf-8")
    beside.replace(path)


def with_weights(settings: SettingsT) -> SettingsT:
    """Return *settings* with the weights of the file that they name, if they name one.

    Raises:
        OSError: It cannot be read.
        ValueError: It holds no weights.
    """
    stated = settings.acm_linear
    if stated.file is None:
        return settings
    linear = stated.model_copy(update={"weights": read(stated.file)})
    return settings.model_copy(update={"acm_linear": linear})
