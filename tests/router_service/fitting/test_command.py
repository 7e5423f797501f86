"""``lockgate router fit`` and ``lockgate router inspect``."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from typer.testing import CliRunner

from gateway.cli import main
from router_service.groundwork.database import opened
from router_service.learning import artifacts
from router_service.learning.training import train
from router_service.parameters import Weights
from router_service.store.fits import FitTable
from router_service.store.observations import ObservationTable
from router_service.store.steps import STEPS
from tests.router_service.fitting.scene import ARMS, traffic


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["router", *words])
    return done.exit_code, done.output


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    file = tmp_path / "rows.jsonl"
    lines = (row.model_dump_json(exclude_defaults=True) for row in traffic(600))
    file.write_text("\n".join(lines) + "\n\n")
    return file


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A database with the same rows, and with weights that are served."""
    address = f"sqlite+aiosqlite:///{tmp_path}/router.db"

    async def fill() -> None:
        async with opened(address, STEPS) as database:
            await ObservationTable(database).observe(traffic(600))
            weights = Weights(artifact=train(traffic(600)).artifact)
            report = {"why": "no worse: +1", "rows": 600}
            await FitTable(database, "acm_linear").keep(weights, report, "ana", 5.0)

    anyio.run(fill)
    return f"sqlite:///{tmp_path}/router.db"


def test_weights_are_trained_from_lines_told_of_and_written(tmp_path: Path, rows: Path) -> None:
    file = tmp_path / "weights.json"

    code, told = run("fit", str(rows), "-o", str(file))

    assert code == 0
    assert f"the best fixed arm, {ARMS[1]}: +" in told
    assert f"{ARMS[1]}: " in told
    assert artifacts.read(file).weights == train(traffic(600)).artifact.weights
    assert run("inspect", str(file))[1].splitlines()[-3:] == told.splitlines()[-4:-1]


def test_they_are_trained_from_the_database_too(tmp_path: Path, url: str, rows: Path) -> None:
    from_database = run("fit", "--database", url)

    assert from_database[0] == 0
    assert from_database == run("fit", str(rows))


def test_what_is_not_worth_it_is_not_written_unless_somebody_insists(tmp_path: Path) -> None:
    rows, file = tmp_path / "rows.jsonl", tmp_path / "weights.json"
    useless = traffic(200, gains=(-0.05, -0.05))
    rows.write_text("\n".join(row.model_dump_json() for row in useless))

    code, told = run("fit", str(rows), "-o", str(file))

    assert (code, file.exists()) == (1, False)
    assert "nothing is written" in told
    assert run("fit", str(rows), "-o", str(file), "--force")[0] == 0
    assert file.exists()


def test_what_is_served_is_told_with_who_had_it_served(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbours = run("inspect", "--database", url)
    monkeypatch.setenv("LOCKGATE_ROUTER__TYPE", "acm_linear")
    code, told = run("inspect", "--database", url)

    assert neighbours == (0, "semknn: no fit is served\n")
    assert code == 0
    assert told.startswith("revision 601, 1970-01-01T00:00:05+00:00, by ana\nwhy: no worse: +1\n")
    assert f"{ARMS[1]}: " in told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["inspect", "nowhere.json"], "nowhere.json"),
        (["inspect", "--database", "sqlite:///nowhere.db"], "database.url: "),
        (["fit", "nowhere.jsonl"], "nowhere.jsonl: No such file"),
        (["fit", "--database", "sqlite:///nowhere.db"], "there is no such file"),
        (["fit", "--database", "mysql://x/y"], "error: "),
        (["fit", "-c", "nowhere.yaml"], "nowhere.yaml: "),
    ],
)
def test_what_cannot_be_read_is_told(words: list[str], told: str) -> None:
    code, output = run(*words)

    assert code == 2
    assert told in output


def test_a_line_that_is_no_observation_is_told_by_its_number(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text(traffic(1)[0].model_dump_json() + '\n{"id": 3}\n')

    code, output = run("fit", str(rows))

    assert code == 2
    assert "line 2: " in output
