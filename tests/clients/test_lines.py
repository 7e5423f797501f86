"""aider and llm, with a model behind each dialect."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.clients.conftest import Stage
from tests.clients.lines import Folder, Ran, scripted
from tests.clients.playing import dialect_of, formed, results, speaks
from tests.e2e.turns import MODELS, Called, Turn
from tests.fakes.gateway import KEYS

EDIT = """answer.txt
```
<<<<<<< SEARCH
21
=======
42
>>>>>>> REPLACE
```
"""
models = pytest.mark.parametrize("model", MODELS)


def _aider(stage: Stage, folder: Folder, *options: str) -> Ran:
    variables = {"OPENAI_API_BASE": f"{stage.root}/v1", "OPENAI_API_KEY": KEYS["k1"]}
    usual = ["--no-show-model-warnings", "--no-git", "--yes-always", "--no-auto-lint"]
    return folder.run([scripted("aider", "aider"), *usual, *options], variables)


@pytest.mark.parametrize(
    ("how", "model"), [("--no-stream", MODELS[0]), *(("--stream", model) for model in MODELS)]
)
def test_aider_edits_a_file(stage: Stage, tmp_path: Path, how: str, model: str) -> None:
    folder = Folder(tmp_path)
    (folder.work / "answer.txt").write_text("21\n")
    stage.upstream.chooses(speaks(Turn(parts=("Here it is.\n\n", EDIT))))

    chosen = ["--model", f"openai/{model}", "--edit-format", "diff", how]
    ran = _aider(stage, folder, *chosen, "--message", "Double it.", "answer.txt")

    assert ran.status == 0, ran
    assert (folder.work / "answer.txt").read_text() == "42\n"
    [asked] = stage.upstream.asked
    assert dialect_of(asked) == model[:2]


def _llm(stage: Stage, folder: Folder, model: str, *options: str) -> Ran:
    program = scripted("frameworks", "llm")
    own = folder.home / "llm"
    own.mkdir(exist_ok=True)
    (own / "keys.json").write_text(json.dumps({"lockgate": KEYS["k1"]}))
    row = {"model_id": "m", "model_name": model, "api_base": f"{stage.root}/v1"}
    row["api_key_name"] = "lockgate"
    able = {"supports_tools": True, "supports_schema": True, "vision": True}
    (own / "extra-openai-models.yaml").write_text(json.dumps([{**row, **able}]))
    variables = {"LLM_USER_PATH": str(own)}
    return folder.run([program, "-m", "m", "Hello?", *options], variables)


@pytest.mark.parametrize(
    ("how", "model"), [("--no-stream", MODELS[0]), *(("--no-log", model) for model in MODELS)]
)
def test_llm_answers_whole_and_streamed(stage: Stage, tmp_path: Path, how: str, model: str) -> None:
    stage.upstream.chooses(speaks(Turn(parts=("Hel", "lo, Zoë."))))

    ran = _llm(stage, Folder(tmp_path), model, how)

    assert (ran.status, ran.said.strip()) == (0, "Hello, Zoë."), ran
    assert bool(stage.upstream.asked[0].body.get("stream")) == (how != "--no-stream")


@models
def test_llm_calls_tools(stage: Stage, tmp_path: Path, model: str) -> None:
    weather = "def weather(city: str) -> str:\n    return city + ': 21'\n"
    calls = [
        Called("call_1", "weather", '{"city": "Oslo"}'),
        Called("call_2", "weather", '{"city": "Rome"}'),
    ]
    stage.upstream.chooses(speaks(Turn(calls=calls), Turn(parts=("Both ", "are warm."))))

    ran = _llm(stage, Folder(tmp_path), model, "--functions", weather)

    assert ran.status == 0, ran
    assert ran.said.strip().endswith("Both are warm.")
    assert results(stage.upstream.asked[1]) == [("call_1", "Oslo: 21"), ("call_2", "Rome: 21")]


@models
def test_llm_fills_a_schema(stage: Stage, tmp_path: Path, model: str) -> None:
    stage.upstream.chooses(speaks(formed({"city": "Zürich", "degrees": 21})))

    ran = _llm(stage, Folder(tmp_path), model, "--schema", "city, degrees int")

    assert json.loads(ran.said) == {"city": "Zürich", "degrees": 21}, ran
