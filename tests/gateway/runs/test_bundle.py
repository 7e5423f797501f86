"""Documents of runs: an honest one comes back as it was, one with what cannot be is refused."""

from __future__ import annotations

import hashlib
from copy import deepcopy
from dataclasses import fields
from typing import Any

import orjson
import pytest

from gateway.context.cut import Cut
from gateway.context.memory import Remembered, remembered
from gateway.runs.bundle import brought, bundle
from gateway.stores.journal.records import RunName, Standing, StepRecord, Stored
from gateway.surfaces.run_view import view_of
from techniques.core.errors import RequestRejected
from techniques.core.json import Json
from tests.gateway.runs.scene import World

COUNTED = ("seq", "after", "attempts", "refusals", "cost")
SUMMED = ("waste", "saved", "replayed", "ambiguous", "resumes")
END = '["Finished","stop",null,""]'


async def _document() -> Json:
    world = World()
    async with world.replica() as replica:
        await replica.ask()
        return bundle(await world.stored(), 1)


def _sealed(body: Json) -> Json:
    body = {name: value for name, value in body.items() if name != "sha256"}
    text = orjson.dumps(body, option=orjson.OPT_SORT_KEYS)
    return {**body, "sha256": hashlib.sha256(text).hexdigest()}


def _refused(body: Json) -> str:
    with pytest.raises(RequestRejected) as told:
        brought(_sealed(body), "k")
    assert told.value.code == "invalid_bundle"
    return told.value.message


def _kept(stored: Stored) -> Stored:
    return Stored(stored.record, stored.standing, 0, 0, stored.steps)


@pytest.mark.parametrize("session", [None, "s", "import", "a/events", "é ☃", "x" * 256])
async def test_an_honest_document_comes_back_as_it_was(session: str | None) -> None:
    body = await _document()
    body["run"]["session"] = session
    found = brought(_sealed(body), "k")
    assert found.record.name == RunName("k", "run")
    assert found.record.session == session
    assert found.standing.state == "completed"
    told = view_of(_kept(found), 1)
    assert [step["path"] for step in told["steps"]]
    assert told["answer"]["choices"][0]["message"]["content"]
    assert orjson.dumps(told)


async def test_every_number_of_a_run_is_checked() -> None:
    numbers = {f.name for f in fields(StepRecord) if "int" in str(f.type)}
    assert numbers == {*COUNTED, "tokens", "at_ms"}
    sums = {f.name for f in fields(Standing) if "int" in str(f.type)}
    assert sums == {*SUMMED, "eta_ms"}


@pytest.mark.parametrize("number", [-1, 2**53 + 1, 2**63 - 1, 2**64 - 1])
async def test_numbers_that_can_be_none_of_a_run_are_refused(number: int) -> None:
    body = await _document()
    for name in (*COUNTED, "at_ms"):
        odd = deepcopy(body)
        odd["steps"][0][name] = number
        assert name in _refused(odd)
    for name in (*SUMMED, "eta_ms"):
        odd = deepcopy(body)
        odd["run"]["standing"][name] = number
        assert name in _refused(odd)
    odd = deepcopy(body)
    odd["steps"][0]["tokens"] = [1, number]
    assert "tokens" in _refused(odd)


async def test_numbers_are_refused_that_are_too_large_together() -> None:
    body = await _document()
    for step in body["steps"]:
        step["cost"] = 2**52
    assert len(body["steps"]) > 2
    assert "cost" in _refused(body)


@pytest.mark.parametrize(
    "cut",
    [
        "",
        "{}",
        "[]",
        "{",
        '{"cut": {"removed": "x"}, "method": null, "turn": null}',
        '{"cut": {"nothing": 1}, "method": null, "turn": null}',
        '{"cut": {}, "method": "guess", "turn": null}',
        '{"cut": {}, "method": null, "turn": "x"}',
    ],
)
async def test_a_cut_that_is_none_is_refused(cut: str) -> None:
    body = await _document()
    body["run"]["standing"]["decided"] = {"cut": cut}
    assert "decided" in _refused(body)
    kept = Remembered(Cut(3, "They spoke.", 4, 1), "truncate", 9)
    body["run"]["standing"]["decided"] = {"cut": kept.written(), "later": "anything"}
    assert remembered(brought(_sealed(body), "k").standing.decided["cut"]) == kept


@pytest.mark.parametrize(
    "events",
    [
        "",
        "[]",
        "{",
        '[["TextDelta","a",null]]',
        f'[["TextDelta",5,null],{END}]',
        f'[["ToolCallDelta",5,"x",{{}}],{END}]',
        f'[["ToolCallStarted",-1,"a","b",{{}}],{END}]',
        f'[["UsageReported",{{"input_tokens":"5"}}],{END}]',
        f'[["UsageReported",{{"output_tokens":-5}}],{END}]',
        f'[["UsageReported",{{"output_tokens":{2**64 - 1}}}],{END}]',
        f'[["Choice",1,["UsageReported",{{"input_tokens":{2**64 - 1}}}]],{END}]',
        f'[["Choice",1,["TextDelta",5,null]],{END}]',
        f'[["Choice",1,["TextDelta","never ends",null]],{END}]',
        f'[["Choice",1,["Choice",1,{END}]],{END}]',
        "[" + '["Choice",1,' * 1000 + END + "]" * 1001,
        '[["Finished","shrug",null,""]]',
    ],
)
async def test_events_that_are_no_answer_are_refused(events: str) -> None:
    body: Any = await _document()
    body["steps"][0]["events"] = events
    assert "steps.0.events" in _refused(body)
    body = await _document()
    body["run"]["standing"]["answer"] = events
    assert "run.standing.answer" in _refused(body)
