from __future__ import annotations

import json
from dataclasses import replace

import pytest

from techniques.catalog.chain_of_verification import Options, chain_of_verification
from techniques.core.channel import Member
from techniques.core.errors import StreamBroken, UpstreamFailed
from techniques.core.events import TextDelta
from techniques.core.json import Json
from techniques.core.reply import replied
from techniques.core.request import (
    Document,
    Message,
    Request,
    ResponseFormat,
    Sampling,
    Text,
    Tool,
    ToolChoice,
    said,
)
from techniques.testing import Line, ScriptedChannel
from tests.techniques.scene import (
    Answer,
    Cap,
    Played,
    Setting,
    asks,
    calls,
    channels,
    play,
    prefers,
    scripted,
    shown,
)

HI = asks("Tell me of the war.")
DRAFT = "The war began in 1916 in Sarajevo. It was long."
FINAL = "The war began in 1914 in Sarajevo. It was long."
WHEN, WHERE = "When did the war begin?", "Where did the war begin?"
DOWN = UpstreamFailed("down", "server", retryable=True)


def plan(*questions: str) -> str:
    return json.dumps({"questions": questions})


def fact(answer: str, *, known: bool = True) -> str:
    return json.dumps({"known": known, "answer": answer})


def claim(
    passage: str = "in 1916",
    correction: str = "in 1914",
    *,
    about: Json = 1,
    verdict: str = "contradicted",
) -> dict[str, Json]:
    return {"claim": passage, "fact": about, "verdict": verdict, "correction": correction}


def compared(*claims: Json) -> str:
    return json.dumps({"claims": claims})


FULL: dict[str, Answer] = {
    "d0": DRAFT,
    "q0": plan(WHEN, WHERE),
    "v0": fact("It began in 1914."),
    "v1": fact("It began in Sarajevo."),
    "x0": compared(claim(), claim("in Sarajevo", "", about=2, verdict="supported")),
    "s0": FINAL,
}


def checked(**answers: Answer) -> ScriptedChannel:
    """Answer by step, or by role where the step is not named."""
    said: dict[str, Answer] = {**FULL, **answers}
    return scripted(lambda request: said.get(request.role, said[request.step]))


async def run(
    channel: ScriptedChannel, request: Request = HI, *, cap: int | None = None, **options: Json
) -> Played:
    limit = None if cap is None else Cap(channel, cap)
    setting = Setting(Options(**options), cap=limit)
    return await play(chain_of_verification, channels(channel), request, setting)


async def test_what_is_contradicted_is_corrected() -> None:
    played = await run(checked())
    assert played.text == FINAL
    assert played.note("verification") == {"questions": 2, "answered": 2, "corrections": 1}
    assert {one.step for one in played.asked} == {"d0", "q0", "v0", "v1", "x0", "s0"}
    writing = played.asked[-1]
    assert writing.messages[-2] == Message("assistant", (Text(DRAFT),))
    assert 'Where it says "in 1916": in 1914' in writing.messages[-1].text
    assert "Sarajevo" not in writing.messages[-1].text


async def test_the_worst_case_is_seven_calls() -> None:
    played = await run(checked(q0=plan(WHEN, WHERE, "Why?", "Who?"), v2=fact("Because.")))
    assert len(played.asked) == 7


async def test_questions_are_answered_in_sight_of_the_conversation_and_not_the_draft() -> None:
    paper = Document(text="The war began in 1914.", name="paper")
    request = replace(HI, messages=(Message("user", (Text("Tell me of the war."), paper)),))
    played = await run(checked(), request)
    asked = [one for one in played.asked if one.role == "verification"]
    assert len(asked) == 2
    for one in asked:
        assert "The war began in 1914." in shown(one)
        assert DRAFT not in shown(one)
        assert "1916" not in shown(one)
    first = next(one for one in asked if one.step == "v0")
    assert f"question>>\n{WHEN}\n" in shown(first)


async def test_questions_are_asked_at_once() -> None:
    channel = checked(v0=Line(replied(fact("It began in 1914.")), after=5))
    assert (await run(channel)).text == FINAL
    assert channel.most_open == 2


@pytest.mark.parametrize(
    ("answers", "asked"),
    [
        ({"q0": plan()}, 2),
        ({"q0": plan("", " ")}, 2),
        ({"verification": fact("", known=False)}, 4),
        ({"verification": fact("It may be 1914.", known=False)}, 4),
        ({"verification": fact("I do not know.")}, 4),
        ({"verification": DOWN}, 4),
        ({"x0": compared()}, 5),
        ({"x0": compared(claim(verdict="supported"))}, 5),
        ({"x0": compared(claim(verdict="unknown"))}, 5),
        ({"x0": compared(claim("in 1999"))}, 5),
        ({"x0": compared(claim(correction=""))}, 5),
        ({"x0": compared(claim(correction="in  1916"))}, 5),
        ({"x0": compared(claim(about=3))}, 5),
        ({"x0": compared(claim(about=True))}, 5),
        ({"x0": compared("in 1916")}, 5),
    ],
)
async def test_where_nothing_is_contradicted_the_draft_is_the_answer_word_for_word(
    answers: dict[str, Answer], asked: int
) -> None:
    played = await run(checked(**answers))
    assert played.text == DRAFT
    assert len(played.asked) == asked
    assert "verification_unusable" not in played.warnings


@pytest.mark.parametrize("step", ["q0", "x0"])
@pytest.mark.parametrize("said", ["I see no need.", "{}", DOWN])
async def test_a_plan_or_comparison_that_cannot_be_read_leaves_the_draft(
    step: str, said: Answer
) -> None:
    played = await run(checked(**{step: said}))
    assert played.text == DRAFT
    assert played.warnings["verification_unusable"] == step


async def test_a_question_that_fails_is_dropped() -> None:
    played = await run(checked(v1=DOWN))
    assert played.text == FINAL
    comparing = next(one for one in played.asked if one.step == "x0")
    assert "fact 2" not in shown(comparing)


async def test_an_answer_in_plain_words_will_do() -> None:
    assert (await run(checked(v0="It began in 1914."))).text == FINAL


async def test_without_the_comparison_the_draft_is_written_again_with_the_answers_in_view() -> None:
    played = await run(checked(), factor_revise=False)
    assert played.text == FINAL
    assert "crosscheck" not in played.roles()
    assert f"{WHEN} It began in 1914." in played.asked[-1].messages[-1].text


async def test_what_nobody_found_out_is_not_brought_in() -> None:
    played = await run(checked(s0="The war began in 1915 in Sarajevo. It was long. Very long."))
    assert played.text == DRAFT
    assert played.note("synthesis")["broke"] == "novelty"


@pytest.mark.parametrize(
    "final", [DOWN, "", replied("The war", "length"), "I can't help with that."]
)
async def test_a_correction_that_does_not_come_leaves_the_draft(final: Answer) -> None:
    assert (await run(checked(s0=final))).text == DRAFT


LONG = " ".join(f"It went on, and word{place} of it was heard." for place in range(40))


async def test_the_correction_is_let_through_as_it_comes() -> None:
    final = f"{FINAL} {LONG}"
    played = await run(checked(d0=f"{DRAFT} {LONG}", s0=final))
    assert played.text == final
    assert sum(isinstance(event, TextDelta) for event in played.events) > 3


async def test_a_correction_that_breaks_off_after_some_of_it_was_seen_is_an_error() -> None:
    broken = Line(replied(f"{FINAL} {LONG}"), breaks=StreamBroken("cut"))
    with pytest.raises(StreamBroken):
        await run(checked(d0=f"{DRAFT} {LONG}", s0=broken))


@pytest.mark.parametrize(("winners", "text"), [("21", "It is 42."), ("22", "It is 41.")])
async def test_a_corrected_result_must_be_preferred_in_both_orders(winners: str, text: str) -> None:
    said = {"d0": "It is 41.", "v0": fact("It is 42."), "s0": "It is 42."}
    sides = {f"ps0{letter}": prefers(winner) for letter, winner in zip("ab", winners, strict=True)}
    played = await run(checked(**said, **sides, x0=compared(claim("41", "42"))), asks())
    assert played.text == text
    assert played.roles().count("judge") == 2


async def test_a_corrected_result_that_no_judge_can_be_paid_for_is_not_taken() -> None:
    said: dict[str, Answer] = {"d0": "It is 41.", "v0": fact("It is 42."), "s0": "It is 42."}
    played = await run(checked(**said, x0=compared(claim("41", "42"))), asks(), cap=7)
    assert played.text == "It is 41."
    assert "cap_reached" in played.warnings


async def test_the_draft_is_shown_early() -> None:
    assert (await run(checked())).early == [DRAFT]


async def test_the_verifier_is_another_model_of_the_pool() -> None:
    channel = checked()
    await play(chain_of_verification, channels(channel, pool=2), HI, Setting(Options()))
    models = {one.step: one.model for one in channel.asked}
    assert {models[step] for step in ("q0", "v0", "v1", "x0")} == {"model-1"}
    assert models["d0"] == models["s0"] == "model-0"


async def test_a_configured_critic_verifies() -> None:
    channel = checked()
    models = replace(channels(channel, pool=2), critic=Member("c", "critic", channel))
    await play(chain_of_verification, models, HI, Setting(Options()))
    assert [one.model for one in channel.asked if one.step == "v0"] == ["critic"]


@pytest.mark.parametrize("cap", [5, 6])
async def test_there_are_only_as_many_questions_as_can_be_paid(cap: int) -> None:
    played = await run(checked(), cap=cap)
    assert played.text == FINAL
    assert len(played.asked) == cap


async def test_with_less_than_one_question_there_is_a_plain_call() -> None:
    played = await run(checked(a0=DRAFT), cap=4)
    assert played.text == DRAFT
    assert played.roles() == ["answer"]
    assert "cap_reached" in played.warnings


async def test_a_draft_that_took_too_many_calls_is_not_checked() -> None:
    channel = checked(d0=DOWN, d1=DRAFT)
    setting = Setting(Options(), cap=Cap(channel, 5))
    played = await play(chain_of_verification, channels(channel, pool=2), HI, setting)
    assert played.text == DRAFT
    assert len(played.asked) == 2
    assert "cap_reached" in played.warnings


class Dwindling(Cap):
    """Says that all can be paid until *most* calls were made, and then that none can."""

    def affordable(self, calls: int) -> int:
        return calls if len(self.channel.asked) < self.most else 0


@pytest.mark.parametrize("made", [4, 5])
async def test_what_turns_out_not_to_be_payable_leaves_the_draft(made: int) -> None:
    channel = checked()
    setting = Setting(Options(), cap=Dwindling(channel, made))
    played = await play(chain_of_verification, channels(channel), HI, setting)
    assert played.text == DRAFT
    assert len(played.asked) == made
    assert "cap_reached" in played.warnings


async def test_code_is_not_checked() -> None:
    code = asks("Write a python function that adds.")
    played = await run(checked(a0="x"), code)
    assert played.roles() == ["answer"]
    assert played.warnings["technique_masked"] == "chain_of_verification: code"


async def test_a_tool_call_that_keeps_to_the_form_is_one_call() -> None:
    action = calls("time", "{}")
    played = await run(checked(d0=action), replace(HI, tools=(Tool("time"),)))
    assert played.reply == action
    assert played.roles() == ["candidate"]


async def test_who_corrects_calls_no_tools_and_tells_no_probabilities() -> None:
    request = replace(HI, tools=(Tool("time"),), sampling=Sampling(logprobs=True, top_logprobs=2))
    played = await run(checked(), request)
    writing = played.asked[-1]
    assert writing.tool_choice == ToolChoice("none")
    assert (writing.sampling.logprobs, writing.sampling.top_logprobs) == (False, None)


FORM = ResponseFormat("json_schema", {"type": "object", "required": ["year"]}, "x")


async def test_json_is_corrected_only_if_it_keeps_its_form() -> None:
    request = replace(HI, response_format=FORM)
    draft, final = '{"year": 1916}', '{"year": 1914}'
    said = compared(claim('"year": 1916', '"year": 1914'))
    assert (await run(checked(d0=draft, x0=said, s0=final), request)).text == final
    broken = await run(checked(d0=draft, x0=said, s0="{}", s0r="{}"), request)
    assert broken.text == draft


async def test_an_answer_that_the_client_began_is_not_checked() -> None:
    played = await run(checked(), HI.with_turns(said("assistant", "The war")))
    assert played.text == DRAFT
    assert played.roles() == ["candidate"]
