from __future__ import annotations

from dataclasses import replace

import pytest

from techniques.catalog.self_refine import Options, self_refine
from techniques.core.errors import TechniqueFailed, UpstreamFailed
from techniques.core.reply import Reply, replied
from techniques.core.request import (
    Message,
    Refusal,
    ResponseFormat,
    Text,
    Tool,
    ToolChoice,
    ToolResult,
)
from tests.techniques.refining import DOWN, DRAFT, GAP, HI, by_step, run
from tests.techniques.scene import (
    Answer,
    Cap,
    Setting,
    calls,
    channels,
    faults,
    line,
    play,
    shown,
)


async def test_a_draft_that_fails_is_written_by_the_next_model() -> None:
    channel = by_step({"d0": DOWN, "d1": "", "d2": DRAFT})
    played = await play(self_refine, channels(channel, pool=3), HI, Setting(Options()))
    assert played.text == DRAFT
    assert played.warnings["failover"] == "m2"


async def test_no_draft_at_all_is_the_first_failure() -> None:
    channel = by_step({"d0": DOWN, "d1": UpstreamFailed("also down")})
    with pytest.raises(UpstreamFailed, match=r"^down$"):
        await play(self_refine, channels(channel, pool=2), HI, Setting(Options()))


async def test_a_cap_may_leave_no_other_model() -> None:
    channel = by_step({"d0": DOWN, "d1": DOWN, "d2": DRAFT})
    setting = Setting(Options(), cap=Cap(channel, 2))
    with pytest.raises(UpstreamFailed):
        await play(self_refine, channels(channel, pool=3), HI, setting)
    assert len(channel.asked) == 2


@pytest.mark.parametrize(
    "draft",
    [
        "I can't help with that.",
        Reply((Refusal("No."),)),
        replied("half", "length"),
        replied("", "content_filter"),
    ],
)
async def test_a_refusal_and_a_text_cut_off_are_committed_as_they_are(draft: Answer) -> None:
    played = await run(by_step({"d0": draft}))
    assert played.reply == line(draft).reply
    assert played.roles() == ["candidate"]


TIME = Tool("time", parameters={"type": "object", "required": ["zone"]})
ZONED = calls("time", '{"zone": "CET"}')


async def test_a_valid_tool_call_is_one_call() -> None:
    played = await run(by_step({"d0": ZONED}), replace(HI, tools=(TIME,)))
    assert played.reply == ZONED
    assert played.roles() == ["candidate"]


async def test_an_invalid_tool_call_is_sent_back_with_what_is_wrong() -> None:
    answers: dict[str, Answer] = {
        "d0": calls("time", "{}"),
        "f0a": calls("clock", ""),
        "f0b": ZONED,
    }
    played = await run(by_step(answers), replace(HI, tools=(TIME,)))
    assert played.reply == ZONED
    assert [one.step for one in played.asked] == ["d0", "f0a", "f0b"]
    back = played.asked[1]
    assert back.tools == (TIME,)
    result = back.messages[-1].parts[0]
    assert isinstance(result, ToolResult)
    assert (result.call_id, result.is_error) == ("call_1", True)
    assert '"zone" is a required property' in repr(result.parts)


async def test_a_tool_call_that_stays_invalid_is_given_and_marked() -> None:
    broken = calls("time", "{}")
    played = await run(by_step({}, broken), replace(HI, tools=(TIME,)))
    assert played.reply == broken
    assert "invalid_answer" in played.warnings
    assert len(played.asked) == 3


async def test_a_call_that_is_missing_is_asked_for_in_words() -> None:
    request = replace(HI, tools=(TIME,), tool_choice=ToolChoice("required"))
    played = await run(by_step({"d0": "Noon.", "f0a": ZONED}), request)
    assert played.reply == ZONED
    assert played.asked[1].messages[-2] == Message("assistant", (Text("Noon."),))


FORM = ResponseFormat("json_schema", {"type": "object", "required": ["n"]}, "x")


async def test_json_is_repaired_before_it_is_criticised() -> None:
    request = replace(HI, response_format=FORM)
    played = await run(by_step({"d0": "{", "f0a": '{"n": 1}'}), request)
    assert played.text == '{"n": 1}'
    assert "no JSON" in shown(played.asked[1])


async def test_a_revision_that_breaks_the_schema_is_not_taken() -> None:
    request = replace(HI, response_format=FORM)
    answers: dict[str, Answer] = {"d0": '{"n": 1}', "k0": faults(GAP), "r0": '{"m": 1}'}
    assert (await run(by_step(answers), request)).text == '{"n": 1}'


async def test_a_strict_schema_is_kept_or_it_is_an_error() -> None:
    request = replace(HI, response_format=replace(FORM, strict=True))
    with pytest.raises(TechniqueFailed, match="did not keep to the form"):
        await run(by_step({}, "{}"), request)


async def test_a_repair_that_fails_leaves_the_draft_and_a_cap_leaves_no_repair() -> None:
    request = replace(HI, response_format=FORM)
    failing = await run(by_step({"d0": "{}", "refine": DOWN}), request)
    assert (failing.text, len(failing.asked)) == ("{}", 3)
    capped = await run(by_step({}, "{}"), request, cap=2)
    assert len(capped.asked) == 2
