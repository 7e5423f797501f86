"""The image is made of what the project has, in a way that can be made again."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.deploy.files import ROOT

TEXT = (ROOT / "Dockerfile").read_text("utf-8")
LINES = TEXT.replace("\\\n", " ").splitlines()


def _copied() -> list[str]:
    found = [
        line.split()[1:-1] for line in LINES if line.startswith("COPY ") and "--from" not in line
    ]
    return [name for names in found for name in names]


def test_a_linter_finds_nothing() -> None:
    tool = Path(sys.executable).with_name("hadolint")
    if not tool.exists():
        pytest.skip("hadolint is not installed: make deploy-tools")

    told = subprocess.run([tool, ROOT / "Dockerfile"], capture_output=True, text=True, check=False)

    assert told.returncode == 0, told.stdout


def test_it_has_every_package_and_nothing_that_is_kept_out_of_the_build() -> None:
    packed = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    packages = {
        name.rstrip("*") for name in packed["tool"]["setuptools"]["packages"]["find"]["include"]
    }
    ignored = set((ROOT / ".dockerignore").read_text("utf-8").split())

    assert packages <= set(_copied())
    assert [name for name in _copied() if not (ROOT / name).exists()] == []
    assert not set(_copied()) & ignored
    assert {".git", ".venv", "tests", "**/__pycache__"} <= ignored


def test_every_dependency_is_a_wheel_whose_hash_is_known() -> None:
    installs = [line for line in LINES if "pip install" in line]

    assert "--require-hashes --only-binary :all: -r requirements-image.lock" in installs[0]
    assert all("--no-deps --no-build-isolation" in line for line in installs[1:])


def test_it_runs_as_nobody_in_particular_and_holds_no_secret() -> None:
    users = [line for line in LINES if line.startswith("USER ")]
    variables = " ".join(line for line in LINES if line.startswith(("ENV ", "ARG ")))

    assert users == ["USER 10001:10001"]
    assert not re.search(r"SECRET|TOKEN|PASSWORD|_KEY", variables)


def test_it_tells_whether_it_is_well_and_stops_when_it_is_told() -> None:
    (health,) = (line for line in LINES if line.startswith("HEALTHCHECK "))

    assert "/readyz" in health
    assert "STOPSIGNAL SIGTERM" in LINES


def test_it_needs_no_front_end_from_elsewhere() -> None:
    assert not re.search(r"^#\s*syntax=", TEXT, re.MULTILINE)
