"""Techniques over upstreams that do not behave."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from techniques.core.json import Json
from tests.conformance.stage import Stage, Streamed, technique
from tests.fakes import script
from tests.fakes.client import Reply
from tests.fakes.script import Answer, counts, error
from tests.fakes.upstream import Asked, Choose
from tests.patience import NEVER_S, SOON_S, eventually

CHOICE = [
    {"role": "user", "content": "Which is larger?\nA) the moon\nB) a pea\nReply with the letter."}
]
SUM = [{"role": "user", "content": "What is 6 times 7? Reply with the number."}]
ALPHA, BETA = "The tide turns at ALPHA.", "The tide turns at BETA."


def in_turn(*answers: Answer, then: Answer | None = None) -> Choose:
    """Give each call that comes the next of *answers*, and *then* to every later one."""
    rest = itertools.repeat(then) if then else itertools.repeat(answers[-1])
    coming = itertools.chain(answers, rest)
    return lambda _asked: next(coming)


def judged(candidates: Choose, verdict: Callable[[str], str], used: Json = None) -> Choose:
    """Let the judge say what *verdict* makes of its prompt; all else gets *candidates*."""

    def choose(asked: Asked) -> Answer:
        if asked.body["model"] != "real-judge":
            return candidates(asked)
        return script.completion(verdict(str(asked.body["messages"])), used=used)

    return choose


def best_of(samples: int, *, judge: bool = True) -> dict[str, str]:
    """Return the headers that ask for the best of some samples."""
    headers = technique("best_of_n", num_samples=samples)
    return {**headers, "x-lockgate-judge": "oa-judge"} if judge else headers


def content(answer: Reply) -> str:
    """Return the text of the only choice of *answer*."""
    assert answer.status == 200, answer.body
    (choice,) = answer.json["choices"]
    assert isinstance(choice["message"]["content"], str)
    return choice["message"]["content"]


@pytest.mark.case("TECH-01")
@pytest.mark.parametrize("name", ["best_of_n", "self_consistency"])
@pytest.mark.parametrize("first", ["one choice", "no choice"])
def test_samples_are_calls_of_their_own(stage: Stage, name: str, first: str) -> None:
    empty = script.choices()
    fine = script.completion("42")
    candidates = in_turn(empty if first == "no choice" else fine, then=fine)
    stage.upstream.chooses(judged(candidates, lambda _prompt: "7"))
    headers = {**technique(name, num_samples=3), "x-lockgate-judge": "oa-judge"}

    answer = stage.chat(messages=SUM, headers=headers)

    assert content(answer) == "42"
    assert int(answer.headers["x-lockgate-calls"]) == len(stage.upstream.asked) >= 2


@pytest.mark.case("TECH-01")
@pytest.mark.parametrize("first", ["one choice", "no choice"])
def test_a_mixture_makes_do_with_the_samples_that_came(stage: Stage, first: str) -> None:
    empty = script.choices()
    fine = script.completion("42")
    stage.upstream.chooses(in_turn(empty if first == "no choice" else fine, then=fine))

    answer = stage.chat(messages=SUM, headers=technique("moa"))

    assert content(answer) == "42"
    assert int(answer.headers["x-lockgate-calls"]) == len(stage.upstream.asked) >= 2


@pytest.mark.case("TECH-02")
def test_unusable_candidates_have_no_vote(stage: Stage) -> None:
    null = {"role": "assistant", "content": None}
    stage.upstream.chooses(
        in_turn(
            script.completion(message=null),
            script.completion("The answer is 7", "length"),
            then=script.completion("The answer is 42"),
        )
    )

    answer = stage.chat(messages=SUM, headers=technique("self_consistency", num_samples=5))

    assert "42" in content(answer)
    assert "None" not in "".join(str(asked.body["messages"]) for asked in stage.upstream.asked)


@pytest.mark.case("TECH-03")
def test_when_every_sample_fails_there_is_one_error(stage: Stage) -> None:
    stage.upstream.chooses(lambda _asked: error(500, "the engine fell over"))

    answer = stage.chat(messages=SUM, headers=technique("self_consistency", num_samples=3))

    assert answer.status == 502
    assert answer.json["error"]["message"]
    assert len(stage.upstream.asked) <= 4 * 3


@pytest.mark.case("TECH-03")
def test_when_no_answer_can_be_read_one_of_them_is_given_with_a_warning(stage: Stage) -> None:
    said = ["Well, hard to say.", "It may rain, or not.", "Ask me again tomorrow."]
    stage.upstream.chooses(in_turn(*map(script.completion, said)))

    answer = stage.chat(messages=SUM, headers=technique("self_consistency", num_samples=3))

    assert content(answer) in said
    assert answer.headers["x-lockgate-warnings"]


@pytest.mark.case("TECH-04")
@pytest.mark.parametrize("asked", [CHOICE, [{"role": "user", "content": "A or B?"}]])
def test_an_answer_that_is_also_an_article_counts(stage: Stage, asked: Json) -> None:
    stage.upstream.chooses(in_turn(*map(script.completion, ["B", "A", "a", " A. ", "A"])))

    answer = stage.chat(messages=asked, headers=technique("self_consistency", num_samples=4))

    assert content(answer).strip(" .").upper() == "A"


@pytest.mark.case("TECH-06")
@pytest.mark.parametrize(
    ("worse", "better"),
    [
        ("Of the 9 points, I give: 2", "Score: 8"),
        ("95", "8"),
        ("I can not rate this", "3"),
        ("-4", "0"),
        ("NaN", "0"),
        ("Infinity", "1"),
        ('{"n04": 7, "n01": 9}', "2"),
        ('{"n01": 1, "n02": 1, "n03"', "2"),
        ("", "1"),
    ],
)
def test_an_unusable_verdict_is_no_score(stage: Stage, worse: str, better: str) -> None:
    def verdict(prompt: str) -> str:
        if ALPHA in prompt and BETA in prompt:
            return '{"winner": "tie"}'
        return worse if ALPHA in prompt else better

    candidates = in_turn(script.completion(ALPHA), script.completion(BETA))
    stage.upstream.chooses(judged(candidates, verdict))

    answer = stage.chat(headers=best_of(2))

    assert content(answer) == BETA


@pytest.mark.case("TECH-06")
def test_unusable_verdicts_are_counted(stage: Stage) -> None:
    before = stage.total("lockgate_warnings_total", code="judge_unparsable")
    candidates = in_turn(script.completion(ALPHA), script.completion(BETA))
    stage.upstream.chooses(judged(candidates, lambda _prompt: "I can not rate this"))

    answer = stage.chat(headers=best_of(2))

    assert content(answer) in {ALPHA, BETA}
    assert "judge_unparsable" in answer.headers["x-lockgate-warnings"]
    name = "lockgate_warnings_total"
    assert eventually(lambda: stage.total(name, code="judge_unparsable") > before)


@pytest.mark.case("TECH-08")
def test_every_call_of_a_run_is_on_the_bill(stage: Stage) -> None:
    said = [f"The tide turns at noon, says witness {name}." for name in "PQR"]
    candidates = in_turn(*(script.completion(text, used=counts(11, 5)) for text in said))
    marks = iter(["3", "5", "4", "3", "5"])
    stage.upstream.chooses(judged(candidates, lambda _: next(marks, "4"), counts(100, 2)))

    answer = stage.chat(headers=best_of(3))

    calls = len(stage.upstream.asked)
    judge = sum(asked.body["model"] == "real-judge" for asked in stage.upstream.asked)
    drawn = calls - judge
    assert 2 <= drawn <= judge
    rows = stage.rows(answer.request_id, least=calls)
    assert len(rows) == calls == int(answer.headers["x-lockgate-calls"])
    assert sum(row["input_tokens"] for row in rows) == drawn * 11 + judge * 100
    assert sum(row["output_tokens"] for row in rows) == drawn * 5 + judge * 2
    assert sum(row["role"] == "judge" for row in rows) == judge
    owed = (drawn * 11 + judge * 100) * 3e-6 + (drawn * 5 + judge * 2) * 15e-6
    assert sum(float(row["cost_usd"]) for row in rows) == pytest.approx(owed)
    assert float(answer.headers["x-lockgate-cost-usd"]) == pytest.approx(owed)
    assert answer.json["usage"]["prompt_tokens"] == 11
    assert answer.json["usage"]["lockgate"]["prompt_tokens"] == drawn * 11 + judge * 100


@pytest.mark.case("TECH-10")
def test_two_good_samples_are_enough_when_the_others_are_lost(stage: Stage) -> None:
    lost = error(429, "slow down", "rate_limit_error", headers={"retry-after": "120"})
    fine = script.completion("42")
    stage.upstream.chooses(in_turn(fine, fine.later(NEVER_S), lost, fine, then=fine.later(NEVER_S)))
    headers = {
        **technique("self_consistency", num_samples=4),
        "x-lockgate-deadline-ms": "1500",
    }

    answer = stage.chat(messages=SUM, headers=headers)

    assert content(answer) == "42"
    assert answer.took < SOON_S
    assert int(answer.headers["x-lockgate-calls"]) == len(stage.upstream.asked)
    assert eventually(lambda: stage.upstream.busy == 0)


@pytest.mark.case("TECH-11")
@pytest.mark.gateway({"server": {"keepalive_s": 0.2}})
@pytest.mark.parametrize("surface", ["chat", "messages"])
def test_a_stream_that_waits_for_a_technique_is_kept_alive(stage: Stage, surface: str) -> None:
    def kept_alive() -> bool:
        return bool(stage.received) and stage.received[-1].received.count(b"ping") >= 3

    slow = script.completion("River").once(kept_alive)
    stage.upstream.chooses(judged(lambda _asked: slow, lambda _prompt: "7"))

    ask = stage.chat_stream if surface == "chat" else stage.messages_stream
    answer = ask(headers=best_of(2))

    check_whole(answer, surface)


def check_whole(answer: Streamed, surface: str) -> None:
    """Check that *answer* is one well-formed stream of its surface."""
    if surface == "chat":
        assert answer.joined() == "River"
        assert answer.finishes == ["stop"]
        assert answer.dones == 1
        assert answer.usages == []
    else:
        assert answer.block_texts == "River"
        told = [name for name in answer.names if name != "ping"]
        assert told[0] == "message_start"
        assert told[-1] == "message_stop"
        assert told.count("message_start") == 1
