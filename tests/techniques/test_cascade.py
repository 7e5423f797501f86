from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import anyio
import pytest

from techniques.catalog.cascade import Options, cascade
from techniques.core.capabilities import Capabilities
from techniques.core.errors import StreamBroken, UpstreamFailed
from techniques.core.events import Provisional, Started, TextDelta
from techniques.core.reply import replied
from techniques.core.request import Refusal, Request, ResponseFormat, ThinkingWish, Tool
from techniques.testing import Line
from tests.techniques.scene import (
    Answer,
    Cap,
    Measured,
    Played,
    Setting,
    asks,
    calls,
    channels,
    play,
    scripted,
    tokens,
)

DOWN = UpstreamFailed("down", "overloaded", retryable=True)
SILENT = Capabilities(logprobs=False)
OFF = Options()
SELF = Options(agree="self")
POOL = Options(agree="pool")
PARIS = calls("get_weather", '{"city": "Paris", "unit": "C"}', "call_a")
AS_WELL = calls("get_weather", '{ "unit": "C", "city": "Paris" }', "call_b")
ROME = calls("get_weather", '{"city": "Rome", "unit": "C"}', "call_c")
TOOLS = (Tool("get_weather", None, {"type": "object"}),)


def verdict(right: float) -> Answer:
    """A model's 1 or 0 on its own answer."""
    said = tokens("1", max(right, 1e-9))
    both = tokens("1", max(right, 1e-9), "0", max(1 - right, 1e-9)).logprobs["content"]
    return replace(said, logprobs={"content": [{**both[0], "top_logprobs": both}]})


async def run(
    script: Mapping[str, Answer],
    how: Options | Setting = OFF,
    *,
    pool: int = 2,
    request: Request | None = None,
    abilities: Capabilities | None = None,
) -> Played:
    """Play ``cascade`` over *pool* models that answer each step as *script* says."""
    channel = scripted(lambda request: script[request.step])
    return await play(
        cascade,
        channels(channel, pool=pool, abilities=abilities),
        request or asks(),
        Setting(how) if isinstance(how, Options) else how,
    )


def steps(played: Played) -> list[tuple[str, str]]:
    return sorted((request.step, request.model[-1]) for request in played.asked)


async def test_a_cheap_answer_that_is_surely_right_is_taken() -> None:
    played = await run({"c0": "42", "t0": verdict(0.9)})

    assert played.text == "42"
    assert steps(played) == [("c0", "0"), ("t0", "0")]
    assert played.note("cascade")["taken"]


async def test_one_that_is_not_goes_to_the_stronger_model_whose_answer_comes_as_it_is_given() -> (
    None
):
    long = "word " * 90
    played = await run({"c0": "41", "t0": verdict(0.4), "a0": long}, request=asks(stream=True))

    assert played.text == long
    assert sum(isinstance(event, TextDelta) for event in played.events) > 1
    assert steps(played) == [("a0", "1"), ("c0", "0"), ("t0", "0")]
    assert next(asked for asked in played.asked if asked.step == "a0").stream


@pytest.mark.parametrize(("tau", "text"), [(0.5, "42"), (0.61, "strong")])
async def test_how_sure_is_sure_enough_can_be_said(tau: float, text: str) -> None:
    script: dict[str, Answer] = {"c0": "42", "t0": verdict(0.6), "a0": "strong"}

    assert (await run(script, Options(tau=tau))).text == text


@pytest.mark.parametrize(("share", "text"), [(0.8, "42"), (0.6, "strong")])
async def test_where_it_was_measured_probabilities_tell_and_no_call_is_made_for_it(
    share: float, text: str
) -> None:
    script: dict[str, Answer] = {"c0": tokens("42", 0.5), "a0": "strong"}
    played = await run(script, Setting(OFF, calibration=Measured(share)))

    assert played.text == text
    assert played.reply.logprobs is None
    assert {step for step, _ in steps(played)} <= {"c0", "a0"}


async def test_bare_probabilities_may_be_wished_for_and_that_they_are_bare_is_told() -> None:
    script: dict[str, Answer] = {"c0": tokens("42", 0.8)}
    played = await run(script, Options(check="probabilities"))

    assert played.text == "42"
    assert "uncalibrated" in played.warnings


async def test_measured_or_not_a_second_question_may_be_wished_for() -> None:
    script: dict[str, Answer] = {"c0": "42", "t0": verdict(0.9)}
    setting = Setting(Options(check="p_true"), calibration=Measured(0.0))

    assert (await run(script, setting)).text == "42"


async def test_an_answer_that_breaks_its_form_is_not_taken_however_sure() -> None:
    script: dict[str, Answer] = {"c0": tokens("no JSON", 0.99), "a0": "{}"}
    request = asks(response_format=ResponseFormat("json_object"))
    played = await run(script, Setting(OFF, calibration=Measured(1.0)), request=request)

    assert played.text == "{}"


@pytest.mark.parametrize(
    ("answers", "text"),
    [(("It is 42.", "42"), "42"), (("42", "41"), "strong"), (("42", DOWN), "strong")],
)
async def test_two_answers_of_one_model_may_have_to_agree(
    answers: tuple[Answer, Answer], text: str
) -> None:
    script: dict[str, Answer] = {"c0": answers[0], "c1": answers[1], "a0": "strong"}
    played = await run(script, SELF)

    assert played.text == text
    temperatures = {asked.step: asked.sampling.temperature for asked in played.asked}
    assert (temperatures["c0"], temperatures["c1"]) == (None, 0.7)


async def test_a_model_without_probabilities_is_asked_twice_and_that_is_told() -> None:
    script: dict[str, Answer] = {"c0": "42", "c1": "42"}
    played = await run(script, abilities=SILENT)

    assert played.text == "42"
    assert played.warnings == {"confidence_source_changed": "model-0: self"}


async def test_two_cheap_models_that_make_the_same_call_are_believed() -> None:
    script: dict[str, Answer] = {"c0": PARIS, "c1": AS_WELL}
    played = await run(script, POOL, pool=3, request=asks(tools=TOOLS))

    assert played.reply.tool_calls == PARIS.tool_calls
    assert steps(played) == [("c0", "0"), ("c1", "1")]
    assert all(asked.sampling.temperature is None for asked in played.asked)


async def test_where_two_cheap_models_call_otherwise_the_strong_one_is_asked() -> None:
    script: dict[str, Answer] = {"c0": PARIS, "c1": ROME, "a0": ROME}
    played = await run(script, POOL, pool=3, request=asks(tools=TOOLS))

    assert played.reply.tool_calls == ROME.tool_calls
    assert steps(played) == [("a0", "2"), ("c0", "0"), ("c1", "1")]


async def test_calling_and_answering_do_not_agree() -> None:
    script: dict[str, Answer] = {"c0": PARIS, "c1": "It rains.", "a0": ROME}
    played = await run(script, POOL, pool=3, request=asks(tools=TOOLS))

    assert played.reply.tool_calls == ROME.tool_calls


async def test_a_third_cheap_model_may_agree_with_one_of_two() -> None:
    script: dict[str, Answer] = {"c0": "41", "c1": "42", "c2": "42", "a0": "strong"}
    played = await run(script, POOL, pool=4)

    assert played.text == "42"
    assert steps(played) == [("c0", "0"), ("c1", "1"), ("c2", "2")]


async def test_of_two_models_the_cheap_one_must_agree_with_itself() -> None:
    script: dict[str, Answer] = {"c0": "41", "c1": "42", "a0": "strong"}
    played = await run(script, POOL, pool=2)

    assert played.text == "strong"
    assert steps(played) == [("a0", "1"), ("c0", "0"), ("c1", "0")]
    assert played.warnings == {"confidence_source_changed": "pool -> self"}


async def test_every_model_but_the_last_is_checked() -> None:
    script: dict[str, Answer] = {"c0": "40", "t0": verdict(0.1), "c1": "42", "t1": verdict(0.8)}
    played = await run(script, pool=3)

    assert played.text == "42"
    assert steps(played) == [("c0", "0"), ("c1", "1"), ("t0", "0"), ("t1", "1")]


async def test_a_model_that_is_alone_is_asked_again_with_more_effort() -> None:
    script: dict[str, Answer] = {"c0": "41", "t0": verdict(0.1), "a0": "42"}
    played = await run(script, pool=1, request=asks(thinking=ThinkingWish(effort="low")))

    assert played.text == "42"
    assert {asked.step: asked.thinking for asked in played.asked}["a0"] == ThinkingWish(
        effort="medium"
    )


async def test_where_no_more_effort_is_to_be_had_the_answer_stands() -> None:
    script: dict[str, Answer] = {"c0": "41", "t0": verdict(0.1)}
    played = await run(script, pool=1, request=asks(thinking=ThinkingWish(effort="high")))

    assert played.text == "41"
    assert "not_escalated" in played.warnings


async def test_a_refusal_is_not_taken_to_another_model() -> None:
    refusal = replace(replied(""), parts=(Refusal("I will not."),), finish_reason="refusal")
    played = await run({"c0": refusal})

    assert played.reply.refusal == "I will not."
    assert len(played.asked) == 1


@pytest.mark.parametrize("end", [DOWN, Line(replied(""))])
async def test_where_the_strong_model_has_no_answer_the_best_so_far_is_given(end: Answer) -> None:
    script: dict[str, Answer] = {"c0": "41", "t0": verdict(0.1), "a0": end}
    played = await run(script)

    assert played.text == "41"
    assert sum(isinstance(event, Started) for event in played.events) == 1
    assert "not_escalated" in played.warnings


async def test_one_that_breaks_off_when_some_was_passed_on_is_broken() -> None:
    broken = Line(replied("half"), breaks=StreamBroken("gone"))
    with pytest.raises(StreamBroken):
        await run({"c0": "41", "t0": verdict(0.1), "a0": broken})


async def test_the_best_so_far_is_the_last_stages_answer_with_the_clients_settings() -> None:
    script: dict[str, Answer] = {"c0": "1", "c1": "2", "c2": "3", "c3": "4", "a0": DOWN}
    played = await run(script, SELF, pool=3)

    assert played.text == "3"
    shown = [event.text for event in played.events if isinstance(event, Provisional)]
    assert shown == ["1", "3"]


async def test_a_cheap_model_that_fails_is_passed_over() -> None:
    played = await run({"c0": DOWN, "a0": "42"})

    assert played.text == "42"


async def test_where_all_fail_the_failure_is_told() -> None:
    with pytest.raises(UpstreamFailed, match="down"):
        await run({"c0": DOWN, "a0": DOWN})


@pytest.mark.parametrize(
    ("most", "called"), [(1, ["a0"]), (2, ["a0", "c0"]), (3, ["a0", "c0", "t0"])]
)
async def test_what_the_caps_leave_goes_to_an_answer_before_a_check(
    most: int, called: list[str]
) -> None:
    script: dict[str, Answer] = {"c0": "41", "t0": verdict(0.1), "a0": "42"}
    channel = scripted(lambda request: script[request.step])
    setting = Setting(OFF, cap=Cap(channel, most))
    played = await play(cascade, channels(channel, pool=2), asks(), setting)

    assert played.text == "42"
    assert sorted(request.step for request in played.asked) == called


async def test_at_the_deadline_the_best_so_far_is_given() -> None:
    script = {"c0": "41", "t0": verdict(0.1), "a0": Line(replied("42"), after=60)}
    deadline = anyio.current_time() + 10
    played = await run(script, Setting(OFF, deadline=deadline))

    assert played.text == "41"
    assert anyio.current_time() == deadline
    assert "deadline_reached" in played.warnings
