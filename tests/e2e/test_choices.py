"""The OpenAI SDK asks a technique for several choices."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest

from techniques.core.json import Json
from tests.e2e.conftest import Scene
from tests.e2e.turns import MODELS, Turn, streamed, whole
from tests.fakes.script import Answer
from tests.fakes.upstream import Asked

ASKED: list[Json] = [{"role": "user", "content": "What is 17 * 23?"}]
every_model = pytest.mark.parametrize("model", MODELS)


def differing(model: str, *answers: str) -> Callable[[Asked], Answer]:
    """Give *answers* in turn, over and over."""
    calls = count()

    def answer(asked: Asked) -> Answer:
        turn = Turn(parts=(answers[next(calls) % len(answers)],))
        return (streamed if asked.body.get("stream") else whole)(model, turn)

    return answer


def wishes(technique: str, policy: str, **more: str) -> dict[str, str]:
    params = '{"num_samples": 6, "stop": "exact"}' if technique == "self_consistency" else "{}"
    return {
        "x-lockgate-technique": technique,
        "x-lockgate-n-policy": policy,
        "x-lockgate-params": params,
        **more,
    }


@every_model
@pytest.mark.parametrize("expose", ["final", "trace", "optimistic"])
def test_a_vote_ranks_its_answers(scene: Scene, model: str, expose: str) -> None:
    headers = wishes("self_consistency", "rank", **{"x-lockgate-expose": expose})
    scene.upstream.chooses(differing(model, "It is 391.", "It is 401.", "It is 391."))

    raw = scene.chat.chat.completions.with_raw_response.create(
        model=model, messages=ASKED, n=2, extra_headers=headers
    )
    scene.upstream.chooses(differing(model, "It is 391.", "It is 401.", "It is 391."))
    with scene.chat.chat.completions.stream(
        model=model, messages=ASKED, n=2, extra_headers=headers
    ) as stream:
        folded = stream.get_final_completion()

    for answer in (raw.parse(), folded):
        said = [(choice.index, choice.message.content) for choice in answer.choices]
        assert said == [(0, "It is 391."), (1, "It is 401.")]
        assert [choice.finish_reason for choice in answer.choices] == ["stop", "stop"]
    assert raw.headers["x-lockgate-technique"] == "self_consistency"
    assert "fewer_choices" not in raw.headers.get("x-lockgate-warnings", "")
    assert all(asked.body.get("n", 1) == 1 for asked in scene.upstream.asked)


@every_model
def test_answers_that_agree_are_fewer_choices_and_that_is_told(scene: Scene, model: str) -> None:
    scene.upstream.chooses(differing(model, "It is 391."))

    raw = scene.chat.chat.completions.with_raw_response.create(
        model=model, messages=ASKED, n=3, extra_headers=wishes("self_consistency", "rank")
    )

    assert [choice.message.content for choice in raw.parse().choices] == ["It is 391."]
    assert "fewer_choices: 1 of 3" in raw.headers["x-lockgate-warnings"]


@every_model
@pytest.mark.parametrize("technique", ["self_refine", "self_consistency"])
def test_any_technique_can_be_repeated(scene: Scene, technique: str, model: str) -> None:
    scene.upstream.chooses(differing(model, "It is 391."))
    headers = wishes(technique, "repeat")

    once = scene.chat.chat.completions.with_raw_response.create(
        model=model, messages=ASKED, extra_headers=headers
    )
    whole_answer = scene.chat.chat.completions.with_raw_response.create(
        model=model, messages=ASKED, n=3, extra_headers=headers
    )
    with scene.chat.chat.completions.stream(
        model=model, messages=ASKED, n=3, extra_headers=headers
    ) as stream:
        folded = stream.get_final_completion()

    for answer in (whole_answer.parse(), folded):
        assert [choice.index for choice in answer.choices] == [0, 1, 2]
        assert {choice.message.content for choice in answer.choices} == {"It is 391."}
    calls = [int(raw.headers["x-lockgate-calls"]) for raw in (once, whole_answer)]
    assert calls[1] == 3 * calls[0]


def test_without_a_policy_a_plain_call_gives_the_choices(scene: Scene) -> None:
    for policy in ("native", "rank"):
        raw = scene.chat.chat.completions.with_raw_response.create(
            model="sim-small", messages=ASKED, n=2, extra_headers=wishes("self_refine", policy)
        )

        assert len(raw.parse().choices) == 2
        assert "technique_masked" in raw.headers["x-lockgate-warnings"]
        assert raw.headers["x-lockgate-calls"] == "1"
