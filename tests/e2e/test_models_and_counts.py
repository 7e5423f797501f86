"""Models and token counts, as both SDKs ask for them."""

from __future__ import annotations

import anthropic
import openai
import pytest

from techniques.core.json import Json
from tests.e2e.conftest import CAGED_KEY, Scene
from tests.fakes import script

ASKED: list[Json] = [{"role": "user", "content": "How many tokens is this?"}]


def test_both_sdks_list_the_same_models(scene: Scene) -> None:
    chat = [model.id for model in scene.chat.models.list()]
    messages = [model.id for model in scene.messages.models.list()]

    assert chat == messages
    assert {"oa-model", "an-model", "sim-small"} <= set(chat)


def test_both_sdks_retrieve_a_model(scene: Scene) -> None:
    chat = scene.chat.models.retrieve("an-model")
    message = scene.messages.models.retrieve("an-model")

    assert (chat.id, chat.object, chat.owned_by) == ("an-model", "model", "an")
    assert (message.id, message.type, message.lifecycle) == ("an-model", "model", "active")
    assert message.display_name
    assert message.created_at.year == 1970


@pytest.mark.parametrize("limit", [1, 3, 1000])
def test_the_anthropic_sdk_walks_the_pages_either_way(scene: Scene, limit: int) -> None:
    every = [model.id for model in scene.messages.models.list()]

    after = [model.id for model in scene.messages.models.list(limit=limit)]
    page = scene.messages.models.list(limit=limit, before_id=every[-1])
    before = [model.id for one in page.iter_pages() for model in reversed(one.data)]

    assert after == every
    assert before == list(reversed(every[:-1]))


def test_a_model_whose_name_has_a_slash_is_retrieved(scene: Scene) -> None:
    assert scene.chat.models.retrieve("org/embed").id == "org/embed"
    assert scene.messages.models.retrieve("org/embed").id == "org/embed"


def test_a_wrong_page_is_refused_in_anthropics_words(scene: Scene) -> None:
    with pytest.raises(anthropic.BadRequestError, match="limit"):
        scene.messages.models.list(limit=0)


async def test_the_asynchronous_clients_list_models(scene: Scene) -> None:
    async with scene.async_chat() as client:
        chat = [model.id async for model in client.models.list()]
    async with scene.async_messages() as client:
        messages = [model.id async for model in client.models.list()]

    assert chat == messages != []


def test_a_model_that_is_not_there_is_not_found(scene: Scene) -> None:
    with pytest.raises(openai.NotFoundError) as chatted:
        scene.chat.models.retrieve("no-such-model")
    with pytest.raises(anthropic.NotFoundError) as messaged:
        scene.messages.models.retrieve("no-such-model")

    assert chatted.value.code == messaged.value.error_code == "model_not_found"


def test_a_key_sees_its_own_models_only(scene: Scene) -> None:
    chat = scene.chat.with_options(api_key=CAGED_KEY)

    assert [model.id for model in chat.models.list()] == ["oa-model"]
    with pytest.raises(openai.NotFoundError):
        chat.models.retrieve("an-model")


def test_the_provider_counts_tokens_where_it_can(scene: Scene) -> None:
    scene.upstream.plays(script.body({"input_tokens": 4711}))

    count = scene.messages.messages.count_tokens(model="an-model", messages=ASKED)

    [asked] = scene.upstream.asked
    assert count.input_tokens == 4711
    assert asked.path == "/v1/messages/count_tokens"
    assert asked.body == {"model": "real-an", "messages": ASKED}


PLACES = {"an-model": "/v1/messages/count_tokens", "rs-model": "/v1/responses/input_tokens"}


@pytest.mark.parametrize("model", PLACES)
def test_a_provider_that_can_count_is_asked_in_its_own_words(scene: Scene, model: str) -> None:
    counted = script.body({"object": "response.input_tokens", "input_tokens": 4711})
    scene.upstream.plays(counted, counted)
    tool: Json = {"type": "function", "name": "f", "parameters": {"type": "object"}}
    used: Json = {"name": "f", "input_schema": {"type": "object"}}

    one = scene.chat.responses.input_tokens.count(
        model=model, input="hello", instructions="Be brief.", tools=[tool]
    )
    other = scene.messages.messages.count_tokens(
        model=model, messages=ASKED, system="Be brief.", tools=[used]
    )

    assert one.input_tokens == other.input_tokens == 4711
    assert one.object == "response.input_tokens"
    for asked in scene.upstream.asked:
        assert asked.path == PLACES[model]
        assert "Be brief." in str(asked.body)
        assert asked.body["model"] == f"real-{model[:2]}"
        assert not asked.body.keys() & {"max_tokens", "stream", "store", "include"}


@pytest.mark.parametrize("model", ["oa-model", "sim-small"])
def test_a_response_is_estimated_elsewhere(scene: Scene, model: str) -> None:
    count = scene.chat.responses.input_tokens.count(model=model, input="word " * 1000)
    raw = scene.chat.responses.input_tokens.with_raw_response.count(model=model, input="a")

    assert 700 < count.input_tokens < 2000
    assert raw.headers["x-lockgate-count-source"] == "estimate"
    assert raw.headers["x-request-id"]
    with pytest.raises(openai.BadRequestError) as refused:
        scene.chat.responses.input_tokens.count(model=model)
    assert refused.value.param == "input"


@pytest.mark.parametrize("model", ["oa-model", "sim-small"])
def test_tokens_are_estimated_elsewhere(scene: Scene, model: str) -> None:
    short = scene.messages.messages.count_tokens(model=model, messages=ASKED)
    long = scene.messages.messages.count_tokens(
        model=model, messages=[{"role": "user", "content": "word " * 1000}]
    )

    assert 1 <= short.input_tokens < 40
    assert 700 < long.input_tokens < 2000
    assert not scene.upstream.asked


def test_a_count_of_an_unknown_model_is_not_found(scene: Scene) -> None:
    with pytest.raises(anthropic.NotFoundError):
        scene.messages.messages.count_tokens(model="no-such-model", messages=ASKED)


PICTURE = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
WEATHER = {
    "name": "weather",
    "description": "The weather somewhere",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
}
CALLED: list[Json] = [
    *ASKED,
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Paris, then. " * 9, "signature": "c2ln"},
            {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "Paris"}},
        ],
    },
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "sun " * 50}],
    },
]
MORE: list[dict[str, Json]] = [
    {"system": "You are terse. " * 10},
    {"system": [{"type": "text", "text": "You are terse. " * 10}]},
    {"tools": [WEATHER], "tool_choice": {"type": "auto"}},
    {"messages": [{"role": "user", "content": [{"type": "image", "source": PICTURE}]}]},
    {
        "messages": CALLED,
        "tools": [WEATHER],
        "thinking": {"type": "enabled", "budget_tokens": 1024},
    },
]


@pytest.mark.parametrize("model", ["oa-model", "sim-small"])
@pytest.mark.parametrize("more", MORE, ids=["text", "blocks", "tools", "image", "calls"])
def test_whatever_a_request_has_is_counted(scene: Scene, model: str, more: Json) -> None:
    plain = scene.messages.messages.count_tokens(model=model, messages=ASKED)

    count = scene.messages.messages.count_tokens(**{"model": model, "messages": ASKED, **more})

    assert count.input_tokens >= plain.input_tokens + 20
    assert not scene.upstream.asked
