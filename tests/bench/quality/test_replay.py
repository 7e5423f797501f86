from __future__ import annotations

import orjson
import pytest

from bench.quality.recorded import Question, RecordedModel, RecordedSet, Sample
from bench.quality.replay import CALL_S, Answered, Replay, Terms, problem_of
from gateway.upstream.simulated.asked import Refused
from techniques.core.channel import Member
from techniques.core.json import Json
from techniques.core.reply import replied
from techniques.core.request import Request, said
from techniques.parts.aside import Aside
from techniques.parts.judge import read_score, verdict_request
from techniques.parts.transcript import Fence
from techniques.testing import ScriptedChannel

PROMPT = "How many legs do 6 spiders and a half have?"
OTHER = f"{PROMPT} And one more?"


def sampled(*answers: str | None, gold: str = "52") -> tuple[Sample, ...]:
    return tuple(Sample(answer, answer == gold) for answer in answers)


LEGS = Question(
    "legs", PROMPT, frozenset({"52"}), {"m": sampled("52", "48", "52", None, "50", "52")}
)
MORE = Question("more", OTHER, frozenset({"60"}), {"m": sampled("60", gold="60")})
SET = RecordedSet("spiders", "", (RecordedModel("m"),), (LEGS, MORE))


def replay(**terms: float) -> Replay:
    return Replay(SET, Terms(**terms))  # type: ignore[arg-type]


def asked(prompt: str = PROMPT, model: str = "m", **more: Json) -> bytes:
    turns = [{"role": "user", "content": prompt}]
    return orjson.dumps({"model": model, "messages": turns, **more})


def text(answered: Answered) -> str:
    content: str = answered.body["choices"][0]["message"]["content"]
    return content


def drawn(made: Replay, count: int, question: Question = LEGS, repeat: int = 0) -> list[str]:
    made.begin(question, repeat)
    return [text(made.answer(asked(question.prompt))) for _ in range(count)]


def test_every_recorded_answer_comes_once_and_in_the_same_order_every_time() -> None:
    made = replay()

    first, again = drawn(made, 6), drawn(made, 6)

    assert first == again
    assert sorted(first) == sorted(
        ["The answer is 52."] * 3 + ["The answer is 48.", "The answer is 50.", "I do not know."]
    )
    assert (made.replayed, made.again, made.played.total()) == (12, 0, 0)


def test_another_repeat_has_another_order() -> None:
    made = replay()

    orders = {tuple(drawn(made, 6, repeat=repeat)) for repeat in range(6)}

    assert len(orders) > 1


def test_what_comes_after_the_last_recorded_answer_is_counted() -> None:
    made = replay()

    texts = drawn(made, 8)

    assert texts[6:] == texts[:2]
    assert made.again == 2


def test_of_two_questions_the_longer_one_is_meant() -> None:
    assert drawn(replay(), 1, MORE) == ["The answer is 60."]


def test_the_line_that_a_vote_asks_for_is_there() -> None:
    made = replay()
    made.begin(MORE)

    answer = made.answer(asked(f"{OTHER}\n\nEnd with one line of the form `Final answer: ...`."))

    assert text(answer) == "The answer is 60.\n\nFinal answer: 60"


def test_at_temperature_0_the_greedy_answer_comes() -> None:
    greedy = {
        "m": Sample("7", right=False, text="seven", logprob=-0.5, tokens=9, read=5, seconds=3)
    }
    question = Question("g", "Guess.", frozenset({"8"}), {"m": sampled("8", gold="8")}, greedy)
    made = Replay(RecordedSet("one", "", SET.models, (question,)), Terms())
    made.begin(question)

    answer = made.answer(asked("Guess.", temperature=0, logprobs=True))

    assert text(answer) == "seven"
    assert answer.body["usage"]["completion_tokens"] == 9
    assert answer.body["usage"]["prompt_tokens"] == 5
    assert {one["logprob"] for one in answer.body["choices"][0]["logprobs"]["content"]} == {-0.5}
    assert answer.seconds == 3
    assert text(made.answer(asked("Guess.", temperature=0.7))) == "The answer is 8."


def test_a_call_is_replayed_as_a_call() -> None:
    tool: Json = {"type": "function", "function": {"name": "act", "parameters": {"type": "object"}}}
    question = Question(
        "t", "Act.", frozenset({"right"}), {"m": sampled("right", gold="right")}, tool=tool
    )
    made = Replay(RecordedSet("one", "", SET.models, (question,)), Terms())
    made.begin(question)

    answer = made.answer(asked("Act.", tools=[tool]))

    (call,) = answer.body["choices"][0]["message"]["tool_calls"]
    assert orjson.loads(call["function"]["arguments"]) == {"call": "right"}


def judged(made: Replay, answer: str) -> float | None:
    request = Request("m", (said("user", PROMPT),))
    judge = Member("j", "judge", ScriptedChannel([]))
    aside = verdict_request(Aside(request, judge, Fence("fence12"), "j0"), replied(answer))
    turns = [{"role": turn.role, "content": turn.text} for turn in aside.messages]
    wanted = aside.response_format
    shape: Json = None
    if wanted is not None and wanted.schema is not None:
        shape = {"type": "json_schema", "json_schema": {"name": "v", "schema": wanted.schema}}
    body = {"model": "judge", "messages": turns, **({"response_format": shape} if shape else {})}
    return read_score(text(made.answer(orjson.dumps(body))))


def test_a_judge_that_never_errs_tells_right_from_wrong() -> None:
    made = replay(judge_error=0.0)

    right, wrong = judged(made, "The answer is 52."), judged(made, "The answer is 48.")

    assert right is not None
    assert wrong is not None
    assert right > 0.8 > 0.5 > wrong
    assert made.played["judge"] == 2


def test_a_judge_that_always_errs_has_it_the_other_way_round() -> None:
    made = replay(judge_error=1.0)

    right, wrong = judged(made, "The answer is 52."), judged(made, "The answer is 48.")

    assert right is not None
    assert wrong is not None
    assert right < wrong


def test_the_simulation_knows_what_is_right_and_what_was_answered_instead() -> None:
    problem = problem_of(LEGS)

    assert (problem.kind, problem.answer) == ("number", "52")
    assert set(problem.wrong) == {"48", "50"}
    assert problem_of(MORE).wrong == ("0",)


def test_what_cannot_be_replayed_is_refused() -> None:
    with pytest.raises(Refused, match="stream"):
        replay().answer(asked(stream=True))
    with pytest.raises(Refused, match="JSON"):
        replay().answer(b"{")


def test_a_call_without_a_recorded_time_takes_as_long_as_any_other() -> None:
    assert replay().answer(asked()).seconds == CALL_S
