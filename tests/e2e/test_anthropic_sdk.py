"""The Anthropic SDK: what it sends, and what it makes of whole and streamed answers."""

from __future__ import annotations

import pytest

from techniques.core.json import Json
from tests.e2e.conftest import Scene
from tests.e2e.turns import MODELS, Turn, streamed, whole

ASKED: list[Json] = [{"role": "user", "content": "Say hello to Zoë."}]
GREETING = Turn(parts=("Hel", "lo, Z", "oë \u2028✓"))


@pytest.mark.parametrize("model", MODELS)
def test_a_message_comes_whole(scene: Scene, model: str) -> None:
    scene.upstream.plays(whole(model, GREETING))

    answer = scene.messages.messages.create(
        model=model, max_tokens=50, system="Be brief.", messages=ASKED
    )

    [block] = answer.content
    assert block.type == "text"
    assert block.text == GREETING.text
    assert (answer.type, answer.role, answer.stop_reason) == ("message", "assistant", "end_turn")
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (12, 4)
    assert answer.id.startswith("msg_")
    assert answer._request_id


@pytest.mark.parametrize("model", MODELS)
def test_a_message_comes_in_events(scene: Scene, model: str) -> None:
    scene.upstream.plays(streamed(model, GREETING))

    with scene.messages.messages.create(
        model=model, max_tokens=50, messages=ASKED, stream=True
    ) as stream:
        events = list(stream)

    assert events[0].type == "message_start"
    assert events[-1].type == "message_stop"
    texts = [
        event.delta.text
        for event in events
        if event.type == "content_block_delta" and event.delta.type == "text_delta"
    ]
    assert "".join(texts) == GREETING.text
    [last] = [event for event in events if event.type == "message_delta"]
    assert last.delta.stop_reason == "end_turn"
    assert last.usage.output_tokens == 4


@pytest.mark.parametrize("model", MODELS)
def test_the_stream_helper_folds_a_stream(scene: Scene, model: str) -> None:
    scene.upstream.plays(streamed(model, GREETING))

    with scene.messages.messages.stream(model=model, max_tokens=50, messages=ASKED) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()

    assert text == stream.get_final_text() == GREETING.text
    assert (final.stop_reason, final.usage.output_tokens) == ("end_turn", 4)


@pytest.mark.parametrize("model", MODELS)
def test_a_cut_answer_says_so(scene: Scene, model: str) -> None:
    scene.upstream.plays(whole(model, Turn(parts=("Hel",), cut=True)))

    answer = scene.messages.messages.create(model=model, max_tokens=1, messages=ASKED)

    assert answer.stop_reason == "max_tokens"


def test_a_provider_of_the_other_dialect_is_asked_in_its_own_words(scene: Scene) -> None:
    scene.upstream.plays(whole("oa-model", GREETING))
    image: Json = {"type": "image", "source": {"type": "url", "url": "https://a.test/cat.png"}}

    scene.messages.messages.create(
        model="oa-model",
        max_tokens=77,
        system=[{"type": "text", "text": "Be brief."}],
        messages=[{"role": "user", "content": [{"type": "text", "text": "What is it?"}, image]}],
        stop_sequences=["END"],
        extra_body={"temperature": 0.5},
        metadata={"user_id": "u-1"},
    )

    [asked] = scene.upstream.asked
    body = asked.body
    assert asked.path == "/v1/chat/completions"
    assert asked.header("authorization") == "Bearer sk-canary-openai-c01d"
    assert (body["model"], body["max_tokens"]) == ("real-oa", 77)
    assert (body["stop"], body["temperature"], body["user"]) == (["END"], 0.5, "u-1")
    system, user = body["messages"]
    assert (system["role"], "Be brief." in str(system["content"])) == ("system", True)
    assert user["content"][0] == {"type": "text", "text": "What is it?"}
    assert user["content"][1]["image_url"]["url"] == "https://a.test/cat.png"


def test_a_provider_of_the_same_dialect_sees_all_but_the_model_name(scene: Scene) -> None:
    scene.upstream.plays(whole("an-model", GREETING))
    cached: Json = {"type": "text", "text": "Long.", "cache_control": {"type": "ephemeral"}}

    scene.messages.messages.create(
        model="an-model",
        max_tokens=50,
        system=[cached],
        messages=ASKED,
        extra_headers={"anthropic-beta": "from-the-future-2099-01-01"},
        extra_body={"from_the_future": [1, 2.5, None]},
    )

    [asked] = scene.upstream.asked
    assert asked.header("anthropic-beta") == "from-the-future-2099-01-01"
    assert asked.header("anthropic-version") == scene.messages.default_headers["anthropic-version"]
    assert asked.header("x-api-key") == "sk-canary-anthropic-c02d"
    assert asked.body == {
        "model": "real-an",
        "max_tokens": 50,
        "system": [cached],
        "messages": ASKED,
        "from_the_future": [1, 2.5, None],
    }


async def test_the_asynchronous_client_reads_whole_and_streamed_answers(scene: Scene) -> None:
    async with scene.async_messages() as client:
        for model in MODELS:
            scene.upstream.plays(whole(model, GREETING), streamed(model, GREETING))
            answer = await client.messages.create(model=model, max_tokens=50, messages=ASKED)
            async with client.messages.stream(model=model, max_tokens=50, messages=ASKED) as stream:
                text = "".join([piece async for piece in stream.text_stream])
                final = await stream.get_final_message()

            assert [b.text for b in answer.content if b.type == "text"] == [GREETING.text]
            assert text == GREETING.text
            assert final.stop_reason == "end_turn"


def test_the_simulation_answers_whole_and_streamed(scene: Scene) -> None:
    asked: list[Json] = [{"role": "user", "content": "What is 17 * 23?"}]

    answer = scene.messages.messages.create(model="sim-large", max_tokens=300, messages=asked)
    with scene.messages.messages.stream(
        model="sim-large", max_tokens=300, messages=asked
    ) as stream:
        text = stream.get_final_text()

    assert ["The answer is" in b.text for b in answer.content if b.type == "text"] == [True]
    assert "The answer is" in text
