"""Every configuration that is shown can be used, and asks for nothing that has no effect."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gateway.cli import main
from tests.docs.documents import ROOT, blocks

_VARIABLE = re.compile(r"\$\{(\w+)\}")
_SPECIAL = {
    "AZURE_OPENAI_ENDPOINT": "https://resource.openai.azure.com",
    "LOCKGATE_JOURNAL_KEY": "01" * 32,
    "LOCKGATE_REDIS_URL": "redis://127.0.0.1:6379/0",
}
EXAMPLES = sorted((ROOT / "deploy/examples").glob("*.yaml"))
SHOWN = [
    pytest.param(text, id=f"{document}-{place}")
    for document in (
        "README.md",
        "docs/operations.md",
        "docs/thinking.md",
        "docs/attention.md",
        "docs/pacing.md",
        "docs/runs.md",
        "docs/context.md",
        "docs/llama-cpp.md",
    )
    for place, text in enumerate(blocks(document, "yaml"))
]


def _check(file: Path) -> str:
    names = _VARIABLE.findall(file.read_text("utf-8"))
    environment = {name: _SPECIAL.get(name, "some-secret") for name in names}
    result = CliRunner().invoke(
        main, ["check", str(file)], env={**environment, "LOCKGATE_KEY_SECRET": "secret"}
    )
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_an_example_passes_the_check_and_is_in_effect_throughout(file: Path) -> None:
    said = _check(file)

    assert f"{file}: ok" in said
    assert "not in effect" not in said


@pytest.mark.parametrize("text", SHOWN)
def test_a_configuration_in_a_document_passes_the_check(text: str, tmp_path: Path) -> None:
    file = tmp_path / "lockgate.yaml"
    whole = text if "models:" in text else (ROOT / "deploy/examples/ollama.yaml").read_text() + text
    file.write_text(whole.replace("/var/lib/llama/slots", str(tmp_path)))

    assert "not in effect" not in _check(file)


def test_the_readme_links_every_example() -> None:
    text = (ROOT / "README.md").read_text("utf-8")

    assert [file.name for file in EXAMPLES if f"(deploy/examples/{file.name})" not in text] == []


def test_every_setting_that_the_readme_calls_without_effect_is(tmp_path: Path) -> None:
    text = """
providers: {p: {dialect: openai_chat, base_url: "https://example.com/v1"}}
models: [{name: m, provider: p}]
reuse: {enabled: true}
traffic: {capture: none}
"""
    expected = {"reuse", "traffic"}
    file = tmp_path / "lockgate.yaml"
    file.write_text(text)

    output = _check(file)

    said = re.findall(r"note: (\S+): read, but not in effect", output)
    assert set(said) == expected
