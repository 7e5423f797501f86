from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from gateway.cli import main
from gateway.config import load
from gateway.policy.keys import digest

GOOD = """
providers: {p: {dialect: openai_chat, simulated: {}}}
models: [{name: a, provider: p, price: {input: 1, output: 2}}, {name: b, provider: p}]
"""


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("LOCKGATE_", "OPENAI_", "ANTHROPIC_")):
            monkeypatch.delenv(name)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "lockgate.yaml"
    path.write_text(GOOD)
    return path


def lockgate(*arguments: str) -> tuple[int, list[str], list[str]]:
    """Run the command; return its exit code, and its lines of output and of errors."""
    result = CliRunner().invoke(main, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.stdout.splitlines(), result.stderr.splitlines()


def test_a_file_that_is_right_is_said_to_be(file: Path) -> None:
    code, out, err = lockgate("check", str(file))

    assert (code, err) == (0, [])
    assert out[-1] == f"{file}: ok, 2 models, 0 keys"


def test_what_an_operator_should_know_is_told_with_it(file: Path) -> None:
    file.write_text(GOOD + "pacing: {mode: on}\n")

    _, out, _ = lockgate("check", str(file))

    assert "note: pacing: read, but not in effect in this version" in out
    assert any("LOCKGATE_ADMIN_TOKEN" in line for line in out)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (GOOD + "servr: {}\n", "error: servr: "),
        (GOOD.replace("simulated: {}", "base_url: 'http://10.0.0.1'"), "error: providers.p.base_"),
        (GOOD + "server: {host: 0.0.0.0}\n", "error: server.host: without keys"),
        ("models: []", "error: models: there is none"),
    ],
)
@pytest.mark.parametrize("command", ["check", "serve"])
def test_a_file_that_is_wrong_stops_with_one_line_a_fault(
    file: Path, command: str, text: str, line: str
) -> None:
    file.write_text(text)

    code, out, err = lockgate(command, *(["-c"] if command == "serve" else []), str(file))

    assert (code, out) == (2, [])
    assert len(err) == 1
    assert err[0].startswith(line)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    code, _, err = lockgate("check", str(tmp_path / "none.yaml"))

    assert code == 2
    assert "none.yaml" in err[0]


@pytest.mark.parametrize("name", ["team-a", "Team: B, {c}", "yes"])
def test_a_new_key_is_shown_once_and_its_line_can_be_pasted(
    file: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("LOCKGATE_KEY_SECRET", "secret")

    code, out, _ = lockgate("key", "new", name)

    assert code == 0
    (key,) = [line for line in out if line.startswith("lg-")]
    pasted = "\n".join(out[out.index("keys:") :])
    file.write_text(GOOD + pasted)
    (row,) = load(file).keys
    assert (row.name, row.hash) == (name, digest("secret", key))
    assert key not in pasted


def test_two_keys_are_never_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCKGATE_KEY_SECRET", "secret")

    first, second = lockgate("key", "new", "a")[1], lockgate("key", "new", "a")[1]

    assert set(first) & set(second) <= {"", "keys:", first[2]}


def test_without_a_secret_one_is_made_that_fits_the_hash() -> None:
    code, out, _ = lockgate("key", "new", "a")

    text = "\n".join(out)
    assert code == 0
    secret = re.search(r"LOCKGATE_KEY_SECRET=(\S+)", text)
    key = re.search(r"^lg-\S+", text, re.MULTILINE)
    assert secret
    assert key
    (row,) = yaml.safe_load("\n".join(out[out.index("keys:") :]))["keys"]
    assert row["hash"] == digest(secret[1], key[0])


def test_without_a_command_it_says_what_there_is() -> None:
    result = CliRunner().invoke(main, [])

    for command in ("serve", "check", "key", "demo"):
        assert command in result.output
