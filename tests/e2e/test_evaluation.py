"""``lockgate eval`` as a process, against a gateway on the simulated provider."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from techniques.core.json import JsonObject
from tests.fakes.gateway import Gateway, _environment
from tests.patience import PATIENCE_S, eventually

CONFIG: JsonObject = {
    "server": {"port": 0},
    "providers": {"sim": {"dialect": "openai_chat", "simulated": {"seed": 3, "speed": 8}}},
    "models": [{"name": "sim-small", "provider": "sim"}, {"name": "sim-large", "provider": "sim"}],
    "database": {"url": "none"},
}
TECHNIQUES = ("none", "self_consistency", "best_of_n")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with Gateway(tmp_path_factory.mktemp("gateway"), CONFIG) as gateway:
        yield f"http://127.0.0.1:{gateway.port}/v1"


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    rows = [(17 * n % 83 + 12, 29 * n % 71 + 13) for n in range(30)]
    file = tmp_path / "prompts.jsonl"
    told = (
        {"prompt": f"What is {a} * {b}?", "reference": a * b, "score_mode": "numeric"}
        for a, b in rows
    )
    file.write_text("\n".join(map(json.dumps, told)), "utf-8")
    return file


def _command(url: str, prompts: Path, *more: str) -> list[str]:
    asked = [f"{name}={url} model=sim-small technique={name}" for name in TECHNIQUES]
    told = [word for one in asked for word in ("-c", one)]
    out = ["--prompts", str(prompts), "-o", str(prompts.parent / "out")]
    return [sys.executable, "-m", "gateway.cli", "eval", *told, *out, *more]


def _started(command: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=_environment(),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def _answers(prompts: Path) -> list[JsonObject]:
    file = prompts.parent / "out" / "records.jsonl"
    lines = file.read_bytes().split(b"\n")[:-1] if file.exists() else []
    return [row for row in map(json.loads, lines) if row["kind"] == "answer"]


def _until(prompts: Path, least: int) -> None:
    """Wait until so many answers are written down."""
    assert eventually(lambda: len(_answers(prompts)) >= least)


def test_what_is_killed_and_stopped_goes_on_and_comes_to_one_report(
    url: str, prompts: Path
) -> None:
    command = _command(url, prompts, "--parallel", "1")
    killed = _started(command)
    _until(prompts, 8)
    killed.kill()
    killed.communicate()
    with (prompts.parent / "out" / "records.jsonl").open("ab") as file:
        file.write(b'{"kind": "answer", "config_ha')  # as if it was killed while it wrote
    stopped = _started(command)
    _until(prompts, 12)
    stopped.send_signal(signal.SIGINT)
    out, _ = stopped.communicate(timeout=2 * PATIENCE_S)
    assert stopped.returncode == 130, out
    assert "the same command goes on where it was" in out
    done = _started([*command[:-1], "4", "--gate-on", "error_rate", "--max-regression", "0.1"])
    out, _ = done.communicate(timeout=2 * PATIENCE_S)
    assert done.returncode == 0, out
    rows = _answers(prompts)
    keys = {(row["config"], row["prompt_hash"], row["repeat"]) for row in rows}
    assert len(rows) == len(keys) == 90
    _is_right(json.loads((prompts.parent / "out" / "report.json").read_text("utf-8")), rows)


def _is_right(report: JsonObject, rows: list[JsonObject]) -> None:
    """Look whether the report says what the records do."""
    assert (report["prompts"], report["missing"], report["exit_code"]) == (30, 0, 0)
    means = {one["name"]: one["means"] for one in report["configurations"]}
    for name in TECHNIQUES:
        costs = [row["cost_usd"] for row in rows if row["config"] == name]
        assert means[name]["cost"]["mean"] == pytest.approx(sum(costs) / 30)
        assert all(row["cost_source"] != "unknown" for row in rows)
        assert {row["technique"] for row in rows if row["config"] == name} == {name}
    assert means["none"]["calls"]["mean"] == 1 < means["self_consistency"]["calls"]["mean"]
    assert means["none"]["cost"]["mean"] < means["self_consistency"]["cost"]["mean"]
    assert all(0.3 < means[name]["quality"]["mean"] <= 1 for name in TECHNIQUES)
    frontier = next(f for f in report["frontiers"] if f["objectives"] == ["quality", "cost"])
    assert "none" in frontier["members"]


def test_a_judge_marks_what_cannot_be_compared(url: str, prompts: Path) -> None:
    told = ["--judge", f"{url} model=sim-large", "--score", "judge", "--limit", "6"]
    done = _started(_command(url, prompts, *told))
    out, _ = done.communicate(timeout=2 * PATIENCE_S)
    assert done.returncode == 0, out
    report = json.loads((prompts.parent / "out" / "report.json").read_text("utf-8"))
    assert report["judge"]["judged"] == 18
    assert report["judge"]["unparsable"] == 0.0
    assert "judge: 18 scores" in out
