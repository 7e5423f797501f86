"""The OpenAI SDK comes back to responses that are kept, at any replica."""

from __future__ import annotations

from collections.abc import Iterator

import openai
import pytest
from openai.types.responses import Response, ResponseItem

from techniques.core.json import Json
from tests.e2e.letter import faults
from tests.e2e.stored import Pair, paired
from tests.e2e.turns import MODELS, Called, Turn
from tests.services.postgres import Postgres

HELLO = Turn(parts=("Hello, ", "Zoë."))
AGAIN = Turn(parts=("Zoë, ", "I said."))


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("stored")
    url = f"sqlite:///{folder}/kept.db"
    if request.param == "postgresql":
        server: Postgres = request.getfixturevalue("postgres")
        url = server.database()
    with paired(folder, url) as opened:
        yield opened


@pytest.mark.parametrize("form", ["whole", "streamed"])
@pytest.mark.parametrize("model", MODELS)
def test_a_conversation_goes_on_at_another_replica(pair: Pair, model: str, form: str) -> None:
    here, there = pair.client(0), pair.client(1)
    pair.says(HELLO)
    first = _asked(here, form, model=model, input="I am Zoë.", instructions="Greet.")
    assert first.to_dict()["store"] is True
    pair.says(AGAIN)

    second = there.responses.create(
        model=model, input="Who am I?", previous_response_id=first.id, stream=False
    )

    assert second.previous_response_id == first.id
    assert pair.sent() == [
        ("user", "I am Zoë."),
        ("assistant", HELLO.text),
        ("user", "Who am I?"),
    ]
    kept = here.responses.retrieve(first.id)
    assert kept.to_dict() == there.responses.retrieve(first.id).to_dict()
    assert (kept.output_text, kept.status) == (HELLO.text, "completed")
    if model != "rs-model":  # which has its own words about what it was asked
        assert kept.instructions == "Greet."
    assert kept.to_dict()["store"] is True
    assert there.responses.retrieve(second.id).output_text == AGAIN.text


def _asked(client: openai.OpenAI, form: str, **said: Json) -> Response:
    """Return the answer to what is *said*, whole or from the end of its stream."""
    if form == "whole":
        answer: Response = client.responses.create(**said)
        return answer
    with client.responses.stream(**said) as stream:
        return stream.get_final_response()


def test_branches_have_a_parent_in_common_and_models_change(pair: Pair) -> None:
    client = pair.client()
    pair.says(HELLO)
    root = client.responses.create(model="an-model", input="One.")
    left = client.responses.create(model="oa-model", input="Two.", previous_response_id=root.id)
    client.responses.create(model="an-model", input="Three.", previous_response_id=root.id)
    assert [text for _, text in pair.sent()] == ["One.", HELLO.text, "Three."]

    client.responses.create(model="an-model", input="Four.", previous_response_id=left.id)

    said = ["One.", HELLO.text, "Two.", HELLO.text, "Four."]
    assert [text for _, text in pair.sent()] == said
    items = client.responses.input_items.list(left.id, order="asc")
    assert [_words(item) for item in items] == said[:3]


@pytest.mark.parametrize("by", ["id", "reference"])
def test_what_is_gone_on_with_is_counted_too(pair: Pair, by: str) -> None:
    client = pair.client()
    pair.says(HELLO)
    first = client.responses.create(model="oa-model", input="word " * 1000)
    said: Json = {"model": "oa-model", "input": "And?"}
    if by == "id":
        said["previous_response_id"] = first.id
    else:
        reference = {"type": "item_reference", "id": first.output[0].id}
        said["input"] = [reference, {"role": "user", "content": "And?"}]

    counted = client.responses.input_tokens.count(**said).input_tokens

    alone = client.responses.input_tokens.count(model="oa-model", input="And?").input_tokens
    assert counted > (1000 if by == "id" else alone)
    with pytest.raises(openai.BadRequestError) as refused:
        client.responses.input_tokens.count(
            model="oa-model", input="And?", previous_response_id="resp_nobody"
        )
    assert refused.value.code == "previous_response_not_found"


def _words(item: Json) -> str:
    return "".join(part.text for part in item.content)


@pytest.mark.parametrize("model", MODELS)
def test_reasoning_goes_back_to_its_maker_alone(pair: Pair, model: str) -> None:
    client = pair.client()
    thought = Turn(parts=("Yes.",), thought="Let me see.")
    pair.says(thought)
    first = client.responses.create(
        model="an-model", input="Well?", reasoning={"effort": "low"}, max_output_tokens=4096
    )
    pair.says(HELLO)

    client.responses.create(model=model, input="And?", previous_response_id=first.id)

    sent = pair.upstream.asked[-1].raw.decode()
    assert "Yes." in sent
    assert (thought.signature in sent) is (model == "an-model")


def test_input_items_come_in_pages(pair: Pair) -> None:
    client = pair.client()
    pair.says(HELLO)
    words = [f"Word {number}." for number in range(7)]
    kept = client.responses.create(
        model="oa-model", input=[{"role": "user", "content": word} for word in words]
    )

    page = client.responses.input_items.list(kept.id, limit=3, order="asc")

    told = page.to_dict()
    ends = page.data[0].id, page.data[2].id
    assert (told["has_more"], told["first_id"], told["last_id"]) == (True, *ends)
    assert [_words(item) for item in page] == words
    latest = client.responses.input_items.list(kept.id, limit=2)
    assert [_words(item) for item in latest.data] == words[:-3:-1]


@pytest.mark.parametrize("model", MODELS)
def test_a_loop_of_tool_calls_goes_on_by_id_or_by_references(pair: Pair, model: str) -> None:
    client = pair.client()
    tools: Json = [{"type": "function", "name": "now", "parameters": {"type": "object"}}]
    said: Json = {"model": model, "tools": tools}
    pair.says(Turn(calls=[Called("call_1", "now", "{}")]))
    asked: Json = {"role": "user", "content": "When?"}
    first = _asked(client, "whole", **said, input=[asked])
    called: Json = first.output[0]
    result: Json = {"type": "function_call_output", "call_id": called.call_id, "output": "noon"}
    reference: Json = {"type": "item_reference", "id": called.id}
    pair.says(HELLO)

    _asked(client, "whole", **said, input=[result], previous_response_id=first.id)
    by_id = _talk(pair)
    _asked(client, "whole", **said, input=[asked, reference, result])

    assert _talk(pair) == by_id
    assert len(by_id) == 3


def _talk(pair: Pair) -> list[Json]:
    """Return the conversation that the upstream was last sent; of a message just that it is one."""
    body = pair.upstream.asked[-1].body
    return body.get("messages") or [item.get("call_id", "message") for item in body["input"]]


def test_what_is_not_to_be_stored_is_not(pair: Pair) -> None:
    client = pair.client()
    pair.says(HELLO)
    kept = client.responses.create(model="oa-model", input="One.")
    other = client.responses.create(
        model="oa-model", input="Two.", store=False, previous_response_id=kept.id
    )

    told = other.to_dict()
    assert (told["store"], told["previous_response_id"]) == (False, kept.id)
    assert [text for _, text in pair.sent()] == ["One.", HELLO.text, "Two."]
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(other.id)
    with pytest.raises(openai.BadRequestError) as refused:
        client.responses.create(model="oa-model", input="x", previous_response_id=other.id)
    assert (refused.value.code, refused.value.param) == (
        "previous_response_not_found",
        "previous_response_id",
    )
    error: Json = refused.value.body
    assert error["message"] == f"Previous response with id '{other.id}' not found."


@pytest.mark.parametrize("odd", ["resp_\0", "x" * 5000, "\u2028", ""])
def test_an_id_that_is_none_is_not_found(pair: Pair, odd: str) -> None:
    client = pair.client()
    pair.says(HELLO)
    with pytest.raises(openai.BadRequestError) as refused:
        client.responses.create(model="oa-model", input="x", previous_response_id=odd)
    assert refused.value.code == "previous_response_not_found"
    reference: Json = {"type": "item_reference", "id": odd}
    with pytest.raises(openai.BadRequestError) as refused:
        client.responses.create(model="oa-model", input=[reference])
    assert refused.value.code == "item_not_found"


def test_a_response_is_its_keys_alone(pair: Pair) -> None:
    mine, other = pair.client(), pair.client(key="k2")
    pair.says(HELLO)
    kept = mine.responses.create(model="oa-model", input="One.")

    for refused in (
        lambda: other.responses.retrieve(kept.id),
        lambda: other.responses.delete(kept.id),
        lambda: other.responses.cancel(kept.id),
        lambda: other.responses.input_items.list(kept.id),
    ):
        with pytest.raises(openai.NotFoundError):
            refused()
    with pytest.raises(openai.BadRequestError):
        other.responses.create(model="oa-model", input="x", previous_response_id=kept.id)
    mine.responses.delete(kept.id)
    with pytest.raises(openai.NotFoundError):
        mine.responses.retrieve(kept.id)


PIXEL = "data:image/png;base64,iVBORw0KGgo="
SAID: dict[str, Json] = {
    "message": {"role": "user", "content": "a"},
    "message of a list": {"role": "user", "content": [{"type": "input_text", "text": "a"}]},
    "answer": {"role": "assistant", "content": [{"type": "output_text", "text": "a"}]},
    "image": {"role": "user", "content": [{"type": "input_image", "image_url": PIXEL}]},
    "call": {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"},
    "result": {"type": "function_call_output", "call_id": "call_1", "output": "a"},
    "result of a list": {
        "type": "function_call_output",
        "call_id": "call_1",
        "output": [{"type": "input_image", "image_url": PIXEL}],
    },
    "custom call": {"type": "custom_tool_call", "call_id": "call_2", "name": "g", "input": "a"},
    "custom result": {"type": "custom_tool_call_output", "call_id": "call_2", "output": "a"},
}


def test_items_are_listed_as_the_sdks_types_have_them(pair: Pair) -> None:
    """Clients may leave out what has a default in what they say, not in what they are told."""
    client = pair.client()
    pair.says(HELLO)
    kept = client.responses.create(
        model="oa-model",
        input=list(SAID.values()),
        tools=[
            {"type": "function", "name": "f", "parameters": None, "strict": False},
            {"type": "custom", "name": "g"},
        ],
    )

    listed = pair.send("GET", f"/v1/responses/{kept.id}/input_items?limit=50&order=asc").json

    found = {
        name: faults(ResponseItem, item) for name, item in zip(SAID, listed["data"], strict=True)
    }
    assert not any(found.values()), found
