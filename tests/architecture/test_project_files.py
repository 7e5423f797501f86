"""What no file of the project may hold, and that the lock files fit the project."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.architecture.source import PACKAGES, ROOT

_KINDS = {".py", ".md", ".toml", ".yaml", ".yml", ".lock", ".json", ".c", ".h", ""}
_SKIPPED = {"build", "results", "node_modules"}
_REGISTRY = re.compile(r"py[p]i\.|python[h]osted|npm[j]s\.|extra-[i]ndex|--[i]ndex-url")
_MACHINE = re.compile(r"/wor[k]/|\.\./share[d]|/tm[p]/w/|/roo[t]/|/hom[e]/[a-z]")
_NAME = re.compile(r"^[A-Za-z0-9._-]+")


def _files() -> list[Path]:
    return [
        path
        for path in sorted(ROOT.rglob("*"))
        if path.is_file()
        and path.suffix in _KINDS
        and not any(
            part in _SKIPPED or part.endswith(".egg-info") or (part[0] == "." and part != ".ci")
            for part in path.relative_to(ROOT).parts[:-1]
        )
        and (path.suffix or path.name in {"Makefile", "Dockerfile", "LICENSE", "run"})
    ]


@pytest.mark.parametrize("pattern", [_REGISTRY, _MACHINE], ids=["registry", "machine"])
def test_no_file_names_a_registry_or_leans_on_one_machine(pattern: re.Pattern[str]) -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in _files()
        if (match := pattern.search(path.read_text(encoding="utf-8", errors="replace")))
    ]

    assert found == []


LOCKS = (
    "requirements-image.lock",
    "requirements.lock",
    "requirements-dev.lock",
    "requirements-deploy.lock",
)


def _project() -> dict[str, list[str]]:
    read = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    build: list[str] = read["build-system"]["requires"]
    run: list[str] = read["project"]["dependencies"] + build
    dev: list[str] = run + read["dependency-groups"]["dev"]
    return {
        "requirements-image.lock": run,
        "requirements.lock": run,
        "requirements-dev.lock": dev,
        "requirements-deploy.lock": dev + read["dependency-groups"]["deploy"],
    }


def _plain(requirement: str) -> str:
    match = _NAME.match(requirement)
    assert match is not None, requirement
    return re.sub(r"[-_.]+", "-", match[0]).lower()


def _locked(name: str) -> list[str]:
    text = (ROOT / name).read_text(encoding="utf-8").replace("\\\n", "")
    return [line for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize("name", LOCKS)
def test_the_lock_has_everything_that_the_project_asks_for(name: str) -> None:
    locked = {_plain(line) for line in _locked(name)}

    assert {_plain(requirement) for requirement in _project()[name]} - locked == set()


@pytest.mark.parametrize("name", LOCKS)
def test_everything_locked_has_one_version_its_hashes_and_no_address(name: str) -> None:
    lines = _locked(name)

    assert [line for line in lines if "==" not in line or "--hash=sha256:" not in line] == []
    assert [line for line in lines if "://" in line or "@" in line] == []


def _versions(name: str) -> set[tuple[str, str]]:
    """Return what is locked and its hashes; development may need it elsewhere too."""
    lines = [line.partition("--hash=") for line in _locked(name)]
    return {(head.partition(";")[0].strip(), hashes) for head, _, hashes in lines}


def test_development_uses_the_versions_that_run() -> None:
    image, run, dev, deploy = map(_versions, LOCKS)

    assert image <= run <= dev <= deploy


def test_what_is_not_python_in_a_package_is_installed_with_it() -> None:
    packed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    found = {
        path
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.*")
        if path.suffix not in {".py", ".pyc"}
    }
    stated = [
        set((ROOT / name.replace(".", "/")).glob(kind))
        for name, kinds in packed["package-data"].items()
        for kind in kinds
    ]
    assert set().union(*stated) == found
    assert all(stated), "each is there for something"
