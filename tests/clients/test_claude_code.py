"""Claude Code, headless: it does what the model asks for, whichever dialect the provider has."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from techniques.core.json import Json, JsonObject
from tests.clients.conftest import Stage
from tests.clients.lines import Folder, Ran, native
from tests.clients.playing import dialect_of, results, speaks, tool_names
from tests.clients.programs.serving import IMAGE
from tests.clients.test_failures import refused
from tests.e2e.turns import MODELS, Called, Turn
from tests.fakes.gateway import KEYS

PROGRAM = "@anthropic-ai/claude-code-*/claude"
DONE = Turn(parts=("It is ", "done."))
models = pytest.mark.parametrize("model", MODELS)


def _call(id: str, tool: str, **arguments: Json) -> Called:
    return Called(id, tool, json.dumps(arguments))


def _run(
    stage: Stage, folder: Folder, model: str, *options: str, more: Mapping[str, str] | None = None
) -> Ran:
    variables = {
        "ANTHROPIC_BASE_URL": stage.root,
        "ANTHROPIC_AUTH_TOKEN": KEYS["k1"],
        "ANTHROPIC_DEFAULT_HAIKU_MODEL": model,
        **(more or {}),
    }
    usual = ["-p", "Do it.", "--model", model, "--allowedTools", "Bash,Read,Write,Edit"]
    return folder.run([native(PROGRAM), *usual, *options], variables)


def _told(ran: Ran) -> JsonObject:
    """Return the last thing that was told, of output in JSON."""
    assert ran.status == 0, ran
    said: JsonObject = json.loads(ran.said.splitlines()[-1])
    return said


@models
@pytest.mark.parametrize("form", ["json", "stream-json"])
def test_it_carries_out_the_tools_and_sends_their_results(
    stage: Stage, tmp_path: Path, form: str, model: str
) -> None:
    folder = Folder(tmp_path)
    file = str(folder.work / "answer.txt")
    stage.upstream.chooses(
        speaks(
            Turn(
                thought="A file is wanted.",
                parts=("First ", "the file."),
                calls=[_call("toolu_1", "Write", file_path=file, content="21\n")],
            ),
            Turn(calls=[_call("toolu_2", "Bash", command="sed -i s/21/42/ answer.txt; echo Zoë")]),
            Turn(
                calls=[
                    _call("toolu_3", "Read", file_path=file),
                    _call("toolu_4", "Bash", command="wc -l answer.txt"),
                ]
            ),
            DONE,
        )
    )
    options = ["--verbose"] if form == "stream-json" else []

    told = _told(_run(stage, folder, model, "--output-format", form, *options))

    assert (told["subtype"], told["result"]) == ("success", DONE.text)
    assert (folder.work / "answer.txt").read_text() == "42\n"
    assert [dialect_of(asked) for asked in stage.upstream.asked] == [model[:2]] * 4
    if not model.startswith("oa"):  # chat completions have no word for who thought
        assert Turn().signature in stage.upstream.asked[-1].raw.decode()
    by_id = dict(results(stage.upstream.asked[-1]))
    assert list(by_id) == ["toolu_1", "toolu_2", "toolu_3", "toolu_4"]
    assert "Zoë" in by_id["toolu_2"]
    assert "42" in by_id["toolu_3"]
    assert "1 answer.txt" in by_id["toolu_4"]


@models
def test_what_it_sent_is_accounted_for(stage: Stage, tmp_path: Path, model: str) -> None:
    stage.upstream.chooses(speaks(DONE))

    told = _told(_run(stage, Folder(tmp_path), model, "--output-format", "json"))

    assert (told["usage"]["input_tokens"], told["usage"]["output_tokens"]) == (12, 4)


def test_its_betas_and_its_fields_reach_an_anthropic_provider(stage: Stage, tmp_path: Path) -> None:
    stage.upstream.chooses(speaks(DONE))

    _run(stage, Folder(tmp_path), "an-model")

    [asked] = stage.upstream.asked
    assert "claude-code-" in (asked.header("anthropic-beta") or "")
    assert {"thinking", "context_management", "metadata", "system"} <= set(asked.body)
    assert "cache_control" in json.dumps(asked.body["system"])


@models
def test_an_image_that_it_reads_is_shown_to_the_model(
    stage: Stage, tmp_path: Path, model: str
) -> None:
    folder = Folder(tmp_path)
    file = folder.work / "pixel.png"
    file.write_bytes(base64.b64decode(IMAGE))
    read = Turn(calls=[_call("toolu_1", "Read", file_path=str(file))])
    stage.upstream.chooses(speaks(read, DONE))

    assert _run(stage, folder, model).said.strip() == DONE.text
    assert "image/png" in stage.upstream.asked[1].raw.decode()


@models
def test_tools_that_it_searches_for_can_be_called(stage: Stage, tmp_path: Path, model: str) -> None:
    search = _call("toolu_1", "ToolSearch", query="select:CronList")
    crons = _call("toolu_2", "CronList")
    stage.upstream.chooses(speaks(Turn(calls=[search]), Turn(calls=[crons]), DONE))

    ran = _run(stage, Folder(tmp_path), model, more={"ENABLE_TOOL_SEARCH": "true"})

    assert (ran.status, ran.said.strip()) == (0, DONE.text), ran
    first, second, _ = stage.upstream.asked
    assert "CronList" not in tool_names(first.body)
    assert "CronList" in tool_names(second.body)


@models
def test_it_tries_again_where_a_provider_is_overloaded(
    stage: Stage, tmp_path: Path, model: str
) -> None:
    stage.upstream.chooses(speaks(refused("an", 529, "Busy.", {"retry-after": "0"}), DONE))

    assert _run(stage, Folder(tmp_path), model).said.strip() == DONE.text
    assert len(stage.upstream.asked) == 2


@models
def test_a_technique_is_wished_for_by_header(stage: Stage, tmp_path: Path, model: str) -> None:
    stage.upstream.chooses(speaks(*[DONE] * 5))
    wish = {"ANTHROPIC_CUSTOM_HEADERS": "x-lockgate-technique: self_consistency"}

    ran = _run(stage, Folder(tmp_path), model, more=wish)

    assert (ran.status, ran.said.strip()) == (0, DONE.text), ran
    assert len(stage.upstream.asked) > 1


@models
def test_a_technique_is_wished_for_by_the_name_of_the_model(
    stage: Stage, tmp_path: Path, model: str
) -> None:
    stage.upstream.chooses(speaks(*[DONE] * 5))

    ran = _run(stage, Folder(tmp_path), f"self_consistency/{model}")

    assert (ran.status, ran.said.strip()) == (0, DONE.text), ran
    assert len(stage.upstream.asked) > 1


def test_an_unknown_key_ends_it(stage: Stage, tmp_path: Path) -> None:
    variables = {
        "ANTHROPIC_BASE_URL": stage.root,
        "ANTHROPIC_AUTH_TOKEN": "lk-nobody",
        "CLAUDE_CODE_MAX_RETRIES": "0",
    }

    ran = Folder(tmp_path).run([native(PROGRAM), "-p", "Hello?", "--model", "oa-model"], variables)

    assert ran.status == 1
    assert "401" in ran.said
    assert stage.upstream.asked == []
