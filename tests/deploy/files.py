"""The files that deploy the gateway, read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import yaml

from techniques.core.json import Json

ROOT: Final = Path(__file__).parents[2]
DEMO: Final = "docker-compose.yml"
PRODUCTION: Final = "docker-compose.production.yml"
COMPOSE: Final = (DEMO, PRODUCTION)
KUBERNETES: Final = "deploy/kubernetes"
_VARIABLE: Final = re.compile(r"\$\{(\w+)(?:(:?[-?])([^}]*))?\}")


def read(name: str) -> Json:
    """Return the one YAML document in the file *name*."""
    return yaml.safe_load((ROOT / name).read_text("utf-8"))


def services(name: str) -> dict[str, Json]:
    """Return the services of a compose file."""
    return dict(read(name)["services"])


def variables(name: str) -> dict[str, str]:
    """Return the variables that a file names, each with what follows it (``:-…`` or ``:?…``)."""
    lines = (ROOT / name).read_text("utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
    return {match[1]: f"{match[2] or ''}{match[3] or ''}" for match in _VARIABLE.finditer(text)}


def mounts(name: str) -> list[tuple[str, str]]:
    """Return what is mounted by a compose file, as *from* and *to*: files and folders of ours."""
    found = [
        str(volume).split(":")[:2]
        for service in services(name).values()
        for volume in service.get("volumes", ())
    ]
    return [(source, target) for source, target in found if source.startswith(".")]
