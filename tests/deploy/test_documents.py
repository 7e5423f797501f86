"""What the documents tell people to type at Docker and Kubernetes names what there is."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from gateway.cli import main
from tests.deploy.files import (
    COMPOSE,
    DEMO,
    KUBERNETES,
    PRODUCTION,
    ROOT,
    read,
    services,
    variables,
)
from tests.docs.documents import blocks, commands
from tests.docs.test_examples import EXAMPLES

LINES = [
    line
    for document in ("README.md", "docs/deploy.md", "docs/operations.md")
    for line in commands(document)
]
COMPOSED = [line for line in LINES if line.startswith("docker compose ")]
_DEPLOY = (ROOT / "docs/deploy.md").read_text("utf-8")


@pytest.mark.parametrize("line", COMPOSED)
def test_a_line_for_compose_names_files_profiles_and_services_that_there_are(line: str) -> None:
    words = shlex.split(line)[2:]
    options = dict(pairwise(words))
    file = options.get("-f", DEMO)
    profiles = {name for one in services(file).values() for name in one.get("profiles", ())}
    verb = next(word for word in words if word in {"up", "run", "exec", "cp", "down"})
    after = words[words.index(verb) + 1 :]
    named = next((word.partition(":")[0] for word in after if not word.startswith("-")), None)

    assert file in COMPOSE
    assert options.get("--profile") in {None, *profiles}
    assert named in {None, *services(file)}


def test_there_are_lines_for_both_files() -> None:
    assert {DEMO if "-f" not in line else PRODUCTION for line in COMPOSED} == set(COMPOSE)
    assert f"docker compose -f {PRODUCTION} " in " ".join(COMPOSED)


def test_every_service_of_the_demonstration_is_told_of() -> None:
    table = _DEPLOY.partition("## The demonstration")[2].partition("\n## ")[0]

    assert [name for name in services(DEMO) if f"`{name}`" not in table] == []


def test_the_drain_that_is_told_of_is_that_of_the_files() -> None:
    pod = read(f"{KUBERNETES}/deployment.yaml")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    _, waits = container["lifecycle"]["preStop"]["exec"]["command"]
    drain = read(f"{KUBERNETES}/lockgate.yaml")["server"]["drain_s"]
    told = _DEPLOY.partition("## How it drains")[2].partition("\n## ")[0]

    assert f"\n| {waits} | SIGTERM" in told
    assert f"\n| up to {int(waits) + drain} |" in told
    assert f"`server.drain_s` ({drain})" in told
    assert f"\n| {pod['terminationGracePeriodSeconds']} | SIGKILL" in told


def test_the_kustomization_that_is_shown_changes_what_there_is() -> None:
    (shown,) = (text for text in blocks("docs/deploy.md", "yaml") if "Kustomization" in text)
    (own, base) = (yaml.safe_load(shown), read(f"{KUBERNETES}/kustomization.yaml"))

    assert own["images"][0]["name"] == base["images"][0]["newName"]
    assert own["configMapGenerator"][0]["name"] == base["configMapGenerator"][0]["name"]
    assert own["configMapGenerator"][0]["behavior"] == "replace"


def test_kustomize_makes_of_it_what_it_is_for(tmp_path: Path) -> None:
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("kubectl is not installed")
    shutil.copytree(ROOT / KUBERNETES, tmp_path / "path/to" / KUBERNETES)
    (shown,) = (text for text in blocks("docs/deploy.md", "yaml") if "Kustomization" in text)
    (tmp_path / "kustomization.yaml").write_text(shown)
    (tmp_path / "lockgate.yaml").write_text("server: {host: 0.0.0.0}\n")

    told = subprocess.run(
        [kubectl, "kustomize", str(tmp_path)], capture_output=True, text=True, check=True
    )

    every = list(yaml.safe_load_all(told.stdout))
    made = {one["kind"]: one for one in every if "router" not in one["metadata"]["name"]}
    pod = made["Deployment"]["spec"]["template"]["spec"]
    assert {one["metadata"]["namespace"] for one in every} == {"lockgate"}
    assert pod["containers"][0]["image"] == "registry.example.com/mine/lockgate:0.1.0"
    assert made["ConfigMap"]["data"] == {"lockgate.yaml": "server: {host: 0.0.0.0}\n"}
    assert pod["volumes"][0]["configMap"]["name"] == made["ConfigMap"]["metadata"]["name"]


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_any_example_can_be_served_by_the_file_for_production(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key is made first, as the document says, and then it starts."""
    monkeypatch.chdir(tmp_path)
    stated: dict[str, Any] = services(PRODUCTION)["gateway"]["environment"]
    given = dict.fromkeys(variables(str(file.relative_to(ROOT))), "some-secret")
    given |= {name: str(value) for name, value in stated.items() if "${" not in str(value)}
    given |= {
        "LOCKGATE_DATABASE__URL": f"sqlite:///{tmp_path}/lockgate.db",
        "LOCKGATE_KEY_SECRET": "secret",
        "AZURE_OPENAI_ENDPOINT": "https://resource.openai.azure.com",
    }

    made = CliRunner().invoke(main, ["key", "create", "app", "-c", str(file)], env=given)
    checked = CliRunner().invoke(main, ["check", str(file)], env=given)

    assert made.exit_code == 0, made.output
    assert checked.exit_code == 0, checked.output
