from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gateway.cli import main
from router_service.contract import Observation
from tests.fakes.router import RouterProcess

QUESTIONS = """\
{"prompt": "What is 17 * 23?", "reference": 391}
{"prompt": "Which is a fruit? A) car B) apple C) stone", "reference": "B"}
{"prompt": "Explain why the sea is salty."}
"""
CONFIG = """\
providers:
  simulated: {dialect: openai_chat, simulated: {seed: 0}}
models:
  - name: sim-small
    provider: simulated
    price: {input: "0.1", output: "0.4"}
    stronger: sim-large
  - {name: sim-large, provider: simulated, price: {input: "1.0", output: "4.0"}}
reliability: {judge: sim-large}
router: {type: semknn, embedding: {kind: hashed}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "q.jsonl").write_text(QUESTIONS)
    database = f"database: {{url: 'sqlite+aiosqlite:///{tmp_path}/lg.db'}}\n"
    (tmp_path / "c.yaml").write_text(CONFIG + database)
    return tmp_path


def calibrate(folder: Path, *more: str, code: int = 0) -> str:
    command = ["calibrate", str(folder / "q.jsonl"), "--router", "--models", "sim-small"]
    ended = CliRunner().invoke(main, [*command, "-c", str(folder / "c.yaml"), *more])
    assert ended.exit_code == code, ended.output
    return ended.output


def rows(file: Path) -> list[Observation]:
    lines = file.read_text().splitlines()
    return [Observation.model_validate_json(line) for line in lines]


def stored(folder: Path) -> int:
    with sqlite3.connect(folder / "lg.db") as connection:
        (count,) = connection.execute("select count(*) from router_observations").fetchone()
    connection.close()
    return int(count)


def test_what_it_costs_is_told_first_and_nothing_is_asked_in_a_dry_run(folder: Path) -> None:
    told = calibrate(folder, "--dry-run", "--max-cost-usd", "0.01")

    assert "3 traces to make, 0 are in" in told
    assert "about $0.0" in told
    assert "stop before it has cost more than $0.01" in told
    assert not (folder / "q.observations.jsonl").exists()


def test_what_is_learnt_is_written_into_a_file_and_into_the_routers_database(
    folder: Path,
) -> None:
    told = calibrate(folder)
    written = rows(folder / "q.observations.jsonl")

    assert "3 prompts were learnt of" in told
    assert "to the database" in told
    assert len({row.request_id for row in written}) == 3
    assert stored(folder) == len(written)


def test_a_terminal_is_told_how_far_it_is_and_not_of_each_call(folder: Path) -> None:
    command = [sys.executable, "-m", "gateway.cli", "calibrate", str(folder / "q.jsonl")]
    more = ["--router", "--models", "sim-small", "-c", str(folder / "c.yaml")]
    ended = subprocess.run([*command, *more], capture_output=True, text=True, check=True)

    told = ended.stderr.splitlines()
    assert [line.partition(",")[0] for line in told] == [f"{n} of 3" for n in (1, 2, 3)]
    assert "request.finished" not in ended.stdout


def test_a_run_that_was_broken_off_is_gone_on_with(folder: Path) -> None:
    file = folder / "o.jsonl"
    calibrate(folder, "-o", str(file))
    whole = file.read_bytes()
    first = whole.index(b"\n", whole.index(b"cascade")) + 20
    file.write_bytes(whole[:first])
    left = len({row.request_id for row in rows_before(whole[:first])})

    told = calibrate(folder, "-o", str(file))

    assert f"{3 - left} traces to make, {left} are in" in told
    assert len({row.request_id for row in rows(file)}) == 3


def rows_before(raw: bytes) -> list[Observation]:
    lines = raw[: raw.rindex(b"\n")].splitlines()
    return [Observation.model_validate_json(line) for line in lines]


def test_a_router_far_away_is_taught_too(folder: Path) -> None:
    with RouterProcess(folder / "router") as router:
        at = f"router: {{type: semknn, embedding: {{kind: hashed}}, url: '{router.url}'}}\n"
        config = CONFIG.replace("router: {type: semknn, embedding: {kind: hashed}}\n", at)
        (folder / "c.yaml").write_text(config + "database: {url: none}\n")
        told = calibrate(folder)
        exported = router.ask("GET", "/v1/observations").body.splitlines()

    assert f"and to {router.url}." in told
    assert len(exported) == len(rows(folder / "q.observations.jsonl"))


def test_a_router_that_is_gone_loses_nothing(folder: Path) -> None:
    at = "router: {type: semknn, embedding: {kind: hashed}, url: 'http://127.0.0.1:9'}\n"
    config = CONFIG.replace("router: {type: semknn, embedding: {kind: hashed}}\n", at)
    (folder / "c.yaml").write_text(config + "database: {url: none}\n")
    told = calibrate(folder, code=2)

    assert "run the command once more" in told
    assert len({row.request_id for row in rows(folder / "q.observations.jsonl")}) == 3


def test_without_a_database_it_is_told_what_to_do_with_the_file(folder: Path) -> None:
    (folder / "c.yaml").write_text(CONFIG + "database: {url: none}\n")

    assert "POST it to /v1/observations" in calibrate(folder)


@pytest.mark.parametrize(
    ("questions", "more", "fault"),
    [
        ("{}", (), "line 1: Value error, give either prompt or messages"),
        (QUESTIONS, ("-o", "/nowhere/o"), "cannot be written"),
        (QUESTIONS, ("--judge", "nobody"), "nobody"),
    ],
)
def test_what_cannot_be_is_told(
    folder: Path, questions: str, more: tuple[str, ...], fault: str
) -> None:
    (folder / "q.jsonl").write_text(questions)

    assert fault in calibrate(folder, *more, code=2)


def test_without_a_judge_open_questions_cannot_be_learnt_of(folder: Path) -> None:
    config = (folder / "c.yaml").read_text().replace("reliability: {judge: sim-large}\n", "")
    (folder / "c.yaml").write_text(config)

    assert "There is no judge, and of 1 prompts" in calibrate(folder, code=2)


def test_the_measure_of_models_still_needs_a_file_to_write(folder: Path) -> None:
    command = ["calibrate", str(folder / "q.jsonl"), "--models", "sim-small"]
    ended = CliRunner().invoke(main, command)

    assert ended.exit_code == 2
    assert "--output" in ended.output
