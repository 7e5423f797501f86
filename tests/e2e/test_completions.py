"""Legacy completions, as the openai SDK asks for them and reads them."""

from __future__ import annotations

import openai
import pytest

from techniques.core.json import Json
from tests.e2e.conftest import Scene
from tests.fakes import script

USED = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


def choice(text: str, reason: str | None = None, index: int = 0) -> dict[str, Json]:
    return {"text": text, "index": index, "logprobs": None, "finish_reason": reason}


def answer(*choices: Json, **more: Json) -> dict[str, Json]:
    head = {"id": "cmpl-9", "object": "text_completion", "created": 1, "model": "real-oa"}
    return {**head, "choices": list(choices), **more}


@pytest.mark.parametrize("prompt", ["Once", ["Once", "Twice"], [1, 2], [[1, 2], [3]]])
def test_a_whole_answer_goes_through(scene: Scene, prompt: Json) -> None:
    scene.upstream.plays(script.body(answer(choice(" upon", "length"), usage=USED)))

    told = scene.chat.completions.with_raw_response.create(
        model="oa-model", prompt=prompt, n=2, best_of=3, echo=True, logprobs=2, max_tokens=7
    )

    [asked] = scene.upstream.asked
    assert asked.path == "/v1/completions"
    assert asked.body == {
        "model": "real-oa",
        "prompt": prompt,
        "n": 2,
        "best_of": 3,
        "echo": True,
        "logprobs": 2,
        "max_tokens": 7,
    }
    assert told.parse().choices[0].text == " upon"
    assert told.headers["x-lockgate-cost-usd"] == "0.000039"


@pytest.mark.parametrize("shown", [True, False])
def test_a_stream_goes_through_with_its_usage_where_that_was_asked_for(
    scene: Scene,
    shown: bool,  # noqa: FBT001
) -> None:
    frames = [
        script.frame(answer(choice("One"))),
        script.frame(answer(choice(" two", "stop"))),
        script.frame(answer(usage=USED)),
        script.done(),
    ]
    scene.upstream.plays(script.sse(*frames))
    options: Json = {"include_usage": True} if shown else openai.omit

    stream = scene.chat.completions.create(
        model="oa-model", prompt="", stream=True, stream_options=options
    )

    told = list(stream)
    assert "".join(one.choices[0].text for one in told if one.choices) == "One two"
    assert [one.usage.total_tokens for one in told if one.usage] == ([5] if shown else [])
    assert scene.upstream.asked[0].body["stream_options"] == {"include_usage": True}


def test_a_stream_that_breaks_off_is_an_error(scene: Scene) -> None:
    scene.upstream.plays(script.sse(script.frame(answer(choice("One"))), end="fin"))

    with pytest.raises(openai.APIError):
        list(scene.chat.completions.create(model="oa-model", prompt="a", stream=True))


@pytest.mark.parametrize("model", ["an-model", "oa-embed", "sim-small", "auto/oa-model"])
def test_who_has_none_is_refused_at_once(scene: Scene, model: str) -> None:
    with pytest.raises(openai.BadRequestError) as raised:
        scene.chat.completions.create(model=model, prompt="a")

    assert raised.value.code in {"unsupported_endpoint", "technique_unsupported"}
    assert not scene.upstream.asked


@pytest.mark.parametrize("prompt", [5, ["a", 1], {"a": 1}])
def test_a_prompt_that_is_none_is_named(scene: Scene, prompt: Json) -> None:
    with pytest.raises(openai.BadRequestError) as raised:
        scene.chat.completions.create(model="oa-model", prompt=prompt)

    assert raised.value.param == "prompt"


def test_the_hosts_own_refusal_is_told(scene: Scene) -> None:
    said = "This is a chat model and not supported in the v1/completions endpoint."
    scene.upstream.plays(script.error(404, said, "invalid_request_error"))

    with pytest.raises(openai.NotFoundError, match="not supported in the v1/completions"):
        scene.chat.completions.create(model="oa-model", prompt="a")
