"""The OpenAI SDK: what it sends, and what it makes of whole and streamed answers."""

from __future__ import annotations

import base64

import pytest

from techniques.core.json import Json
from tests.e2e.conftest import Scene
from tests.e2e.turns import MODELS, Turn, streamed, whole

ASKED: list[Json] = [
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": "Say hello to Zoë."},
]
GREETING = Turn(parts=("Hel", "lo, Z", "oë \u2028✓"))
PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"0" * 16).decode()


@pytest.mark.parametrize("model", MODELS)
def test_a_completion_comes_whole(scene: Scene, model: str) -> None:
    scene.upstream.plays(whole(model, GREETING))

    answer = scene.chat.chat.completions.create(model=model, messages=ASKED, max_tokens=50)

    choice = answer.choices[0]
    assert (choice.message.content, choice.finish_reason) == (GREETING.text, "stop")
    assert answer.object == "chat.completion"
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (12, 4)
    assert answer.usage.total_tokens == 16
    assert answer._request_id


@pytest.mark.parametrize("model", MODELS)
def test_a_completion_comes_in_chunks(scene: Scene, model: str) -> None:
    scene.upstream.plays(streamed(model, GREETING))

    with scene.chat.chat.completions.create(model=model, messages=ASKED, stream=True) as stream:
        chunks = list(stream)

    assert "".join(c.choices[0].delta.content or "" for c in chunks) == GREETING.text
    assert [c.choices[0].finish_reason for c in chunks if c.choices[0].finish_reason] == ["stop"]
    assert chunks[0].choices[0].delta.role == "assistant"
    assert len({chunk.id for chunk in chunks}) == 1
    assert all(chunk.usage is None for chunk in chunks)


@pytest.mark.parametrize("model", MODELS)
def test_a_stream_tells_its_usage_if_asked(scene: Scene, model: str) -> None:
    scene.upstream.plays(streamed(model, GREETING))

    with scene.chat.chat.completions.create(
        model=model, messages=ASKED, stream=True, stream_options={"include_usage": True}
    ) as stream:
        *before, last = stream

    assert all(chunk.usage is None for chunk in before)
    assert last.choices == []
    assert last.usage is not None
    assert (last.usage.prompt_tokens, last.usage.completion_tokens) == (12, 4)


@pytest.mark.parametrize("model", MODELS)
def test_the_stream_helper_folds_a_stream(scene: Scene, model: str) -> None:
    scene.upstream.plays(streamed(model, GREETING))

    with scene.chat.chat.completions.stream(model=model, messages=ASKED) as stream:
        deltas = [event.delta for event in stream if event.type == "content.delta"]
        final = stream.get_final_completion()

    assert "".join(deltas) == final.choices[0].message.content == GREETING.text
    assert final.choices[0].finish_reason == "stop"


@pytest.mark.parametrize("model", MODELS)
def test_a_cut_answer_says_so(scene: Scene, model: str) -> None:
    scene.upstream.plays(whole(model, Turn(parts=("Hel",), cut=True)))

    answer = scene.chat.chat.completions.create(model=model, messages=ASKED, max_tokens=1)

    assert answer.choices[0].finish_reason == "length"


def test_a_provider_of_the_other_dialect_is_asked_in_its_own_words(scene: Scene) -> None:
    scene.upstream.plays(whole("an-model", GREETING))
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    turns: list[Json] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "What is it?"}, image]},
    ]

    scene.chat.chat.completions.create(
        model="an-model",
        messages=turns,
        max_completion_tokens=77,
        stop=["END"],
        temperature=0.5,
        user="u-1",
    )

    [asked] = scene.upstream.asked
    body = asked.body
    assert asked.path == "/v1/messages"
    assert (body["model"], body["max_tokens"]) == ("real-an", 77)
    assert (body["stop_sequences"], body["temperature"]) == (["END"], 0.5)
    assert body["metadata"] == {"user_id": "u-1"}
    assert "Be brief." in str(body["system"])
    text, shown = body["messages"][0]["content"]
    assert text == {"type": "text", "text": "What is it?"}
    source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    assert shown == {"type": "image", "source": source}


def test_a_provider_of_the_same_dialect_sees_all_but_the_model_name(scene: Scene) -> None:
    scene.upstream.plays(whole("oa-model", GREETING))

    scene.chat.chat.completions.create(
        model="oa-model",
        messages=ASKED,
        seed=7,
        logit_bias={"50256": -100},
        extra_body={"from_the_future": {"a": [1, 2.5, None]}},
    )

    [asked] = scene.upstream.asked
    assert asked.body == {
        "model": "real-oa",
        "messages": ASKED,
        "seed": 7,
        "logit_bias": {"50256": -100},
        "from_the_future": {"a": [1, 2.5, None]},
    }


async def test_the_asynchronous_client_reads_whole_and_streamed_answers(scene: Scene) -> None:
    async with scene.async_chat() as client:
        for model in MODELS:
            scene.upstream.plays(whole(model, GREETING), streamed(model, GREETING))
            answer = await client.chat.completions.create(model=model, messages=ASKED)
            stream = await client.chat.completions.create(model=model, messages=ASKED, stream=True)
            async with stream:
                pieces = [chunk.choices[0].delta.content or "" async for chunk in stream]

            assert answer.choices[0].message.content == GREETING.text
            assert "".join(pieces) == GREETING.text


async def test_the_asynchronous_stream_helper_folds_a_stream(scene: Scene) -> None:
    async with scene.async_chat() as client:
        for model in MODELS:
            scene.upstream.plays(streamed(model, GREETING))
            async with client.chat.completions.stream(model=model, messages=ASKED) as stream:
                final = await stream.get_final_completion()

            assert final.choices[0].message.content == GREETING.text


def test_the_simulation_answers_whole_and_streamed_alike(scene: Scene) -> None:
    asked: list[Json] = [{"role": "user", "content": "What is 17 * 23?"}]

    answer = scene.chat.chat.completions.create(model="sim-large", messages=asked, seed=3)
    with scene.chat.chat.completions.create(
        model="sim-large", messages=asked, seed=3, stream=True
    ) as stream:
        chunks = list(stream)

    assert answer.system_fingerprint == "lockgate-simulation"
    assert answer.choices[0].message.content
    spoken = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert spoken == answer.choices[0].message.content


def test_logprobs_and_several_choices_pass(scene: Scene) -> None:
    answer = scene.chat.chat.completions.create(
        model="sim-small",
        messages=[{"role": "user", "content": "What is 2 + 2?"}],
        n=2,
        logprobs=True,
        top_logprobs=2,
    )

    assert [choice.index for choice in answer.choices] == [0, 1]
    for choice in answer.choices:
        assert choice.logprobs is not None
        assert choice.logprobs.content
        assert all(token.logprob <= 0 for token in choice.logprobs.content)
