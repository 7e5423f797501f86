"""Codex, headless: it does what the model asks for, whichever dialect the provider has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from techniques.core.json import Json
from tests.clients.conftest import ADDING, SEARCHING, Stage
from tests.clients.lines import Folder, Ran, native
from tests.clients.playing import dialect_of, results, speaks, tool_names
from tests.clients.test_failures import refused
from tests.docs.documents import ADDRESS, blocks
from tests.e2e.turns import MODELS, Called, Turn
from tests.fakes.gateway import KEYS

PROGRAM = "@openai/codex-*/vendor/*/bin/codex"
DONE = Turn(parts=("It is ", "done."))
UNATTENDED = 'approval_policy = "never"\nsandbox_mode = "danger-full-access"\n'
SETTINGS, ALONE = blocks("docs/clients/codex.md", "toml")
SEARCHED = SETTINGS.replace('web_search = "disabled"\n', "")
"""With the search of the web that Codex has unless it is told otherwise."""
PATCH = """*** Begin Patch
*** Add File: note.txt
+Zoë was here.
*** End Patch
"""
models = pytest.mark.parametrize("model", MODELS)


def _run(
    stage: Stage, folder: Folder, model: str, settings: str = SETTINGS, key: str = KEYS["k1"]
) -> Ran:
    at = folder.home / ".codex"
    at.mkdir()
    stated = settings.replace(ADDRESS, stage.root).replace("sim-small", model)
    (at / "config.toml").write_text(ALONE + UNATTENDED + stated)
    command = [native(PROGRAM), "exec", "--skip-git-repo-check", "--json", "Do it."]
    return folder.run(command, {"LOCKGATE_KEY": key})


def _told(ran: Ran, kind: str) -> list[Json]:
    """Return the items of *kind* that Codex told of."""
    lines = [json.loads(line) for line in ran.said.splitlines() if line.startswith("{")]
    items = [line.get("item", line) for line in lines]
    return [item for item in items if item.get("type") == kind]


def _shell(id: str, command: str) -> Called:
    return Called(id, "exec_command", json.dumps({"cmd": command}))


@models
def test_it_carries_out_the_tools_and_sends_their_results(
    stage: Stage, tmp_path: Path, model: str
) -> None:
    folder = Folder(tmp_path)
    first = Turn(
        thought="A file is wanted.",
        parts=("First ", "the file."),
        calls=[_shell("call_1", "echo 42 > answer.txt; echo Zoë"), _shell("call_2", "echo two")],
    )
    stage.upstream.chooses(speaks(first, Turn(calls=[_shell("call_3", "cat answer.txt")]), DONE))

    ran = _run(stage, folder, model)

    assert ran.status == 0, ran
    assert (folder.work / "answer.txt").read_text() == "42\n"
    assert [item["text"] for item in _told(ran, "agent_message")] == [first.text, DONE.text]
    assert [item["text"] for item in _told(ran, "reasoning")] == [first.thought]
    [usage] = _told(ran, "turn.completed")
    assert (usage["usage"]["input_tokens"], usage["usage"]["output_tokens"]) == (36, 12)
    assert [dialect_of(asked) for asked in stage.upstream.asked] == [model[:2]] * 3
    if not model.startswith("oa"):  # chat completions have no word for who thought
        assert first.signature in stage.upstream.asked[-1].raw.decode()
    by_id = dict(results(stage.upstream.asked[-1]))
    assert list(by_id) == ["call_1", "call_2", "call_3"]
    assert ["Zoë" in by_id["call_1"], "two" in by_id["call_2"], "42" in by_id["call_3"]] == [
        True
    ] * 3


@pytest.mark.parametrize("model", [model for model in MODELS if not model.startswith("rs")])
def test_tools_of_a_group_are_offered_to_other_providers(
    stage: Stage, tmp_path: Path, model: str
) -> None:
    close = Called("call_1", "multi_agent_v1__close_agent", '{"target": "nobody"}')
    stage.upstream.chooses(speaks(Turn(calls=[close]), DONE))

    ran = _run(stage, Folder(tmp_path), model)

    assert ran.status == 0, ran
    first, second = stage.upstream.asked
    assert "multi_agent_v1__close_agent" in tool_names(first.body)
    [(call_id, said)] = results(second)
    assert call_id == "call_1"
    assert "unsupported call" not in said


def test_a_patch_is_applied_for_a_model_that_knows_functions_only(
    stage: Stage, tmp_path: Path
) -> None:
    folder = Folder(tmp_path)
    patch = Called("call_1", "apply_patch", json.dumps({"input": PATCH}))
    stage.upstream.chooses(speaks(Turn(calls=[patch]), DONE))

    ran = _run(stage, folder, "gpt-5.5")

    assert ran.status == 0, ran
    assert (folder.work / "note.txt").read_text() == "Zoë was here.\n"
    assert dialect_of(stage.upstream.asked[0]) == "an"
    assert [call_id for call_id, _ in results(stage.upstream.asked[1])] == ["call_1"]


@pytest.mark.parametrize("model", SEARCHING)
def test_it_searches_for_tools_and_calls_what_it_found(
    stage: Stage, tmp_path: Path, model: str
) -> None:
    search = Called("call_1", "tool_search", '{"query": "close agent", "limit": 8}')
    close = Called("call_2", "multi_agent_v1__close_agent", '{"target": "nobody"}')
    stage.upstream.chooses(speaks(Turn(calls=[search]), Turn(calls=[close]), DONE))

    ran = _run(stage, Folder(tmp_path), model, SEARCHED)

    assert ran.status == 0, ran
    assert [item["text"] for item in _told(ran, "agent_message")] == [DONE.text]
    first, second, third = stage.upstream.asked
    assert dialect_of(first) == SEARCHING[model]
    assert "tool_search" in tool_names(first.body)
    assert b"web_search" not in first.raw
    assert close.name not in tool_names(first.body)
    assert close.name in tool_names(second.body)
    (_, found), (call_id, said) = results(third)
    assert close.name in found
    assert call_id == "call_2"
    assert "unsupported call" not in said
    assert "agent id" in said  # of Codex's own: there is no such agent


@pytest.mark.parametrize("model", ADDING)
def test_tools_that_stand_in_the_input_are_offered(
    stage: Stage, tmp_path: Path, model: str
) -> None:
    folder = Folder(tmp_path)
    code = 'await tools.exec_command({cmd: "echo 42 > answer.txt"});'
    run = Called("call_1", "functions__exec", json.dumps({"input": code}))
    stage.upstream.chooses(speaks(Turn(calls=[run]), DONE))

    ran = _run(stage, folder, model, SEARCHED)

    assert ran.status == 0, ran
    first, second = stage.upstream.asked
    assert dialect_of(first) == ADDING[model]
    assert run.name in tool_names(first.body)
    assert [call_id for call_id, _ in results(second)] == ["call_1"]
    assert (folder.work / "answer.txt").read_text() == "42\n"


def test_what_only_openai_carries_out_is_refused_by_its_name(stage: Stage, tmp_path: Path) -> None:
    ran = _run(stage, Folder(tmp_path), "oa-model", SEARCHED)

    assert ran.status == 1
    assert "unsupported_tool" in ran.said
    assert "web_search" in ran.said


@models
def test_it_tries_again_where_a_provider_is_limited(
    stage: Stage, tmp_path: Path, model: str
) -> None:
    broken = refused("oa", 500, "Later.", {"retry-after": "0"})
    stage.upstream.chooses(speaks(broken, DONE))

    ran = _run(stage, Folder(tmp_path), model)

    assert [item["text"] for item in _told(ran, "agent_message")] == [DONE.text]


@models
def test_a_technique_is_wished_for_by_the_name_of_the_model(
    stage: Stage, tmp_path: Path, model: str
) -> None:
    stage.upstream.chooses(speaks(*[DONE] * 5))

    ran = _run(stage, Folder(tmp_path), f"self_consistency/{model}")

    assert [item["text"] for item in _told(ran, "agent_message")] == [DONE.text]
    assert len(stage.upstream.asked) > 1


def test_an_unknown_key_ends_it(stage: Stage, tmp_path: Path) -> None:
    ran = _run(stage, Folder(tmp_path), "oa-model", key="lk-nobody")

    assert ran.status == 1
    assert "401" in ran.said
    assert stage.upstream.asked == []
