from __future__ import annotations

from collections.abc import Iterator

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.wire.anthropic import AnthropicMessages
from techniques.core.errors import RequestRejected
from techniques.core.json import Json, JsonObject

DIALECT = AnthropicMessages()


def body(**fields: Json) -> JsonObject:
    return {
        "model": "an-model",
        "max_tokens": 64,
        "messages": [{"role": "user", "content": "hi"}],
        **fields,
    }


def test_the_head_names_the_model_and_keeps_the_bytes() -> None:
    raw = b'{"model":"an-model" ,"max_tokens":5,"messages":[{}],"stream":true,"later":1}'
    call = DIALECT.decode(orjson.loads(raw), raw)

    assert (call.dialect, call.model, call.streamed, call.include_usage) == (
        "anthropic",
        "an-model",
        True,
        True,
    )
    assert call.relay.raw is raw
    assert call.relay.dialect == "anthropic"
    assert call.relay.body["later"] == 1


def test_what_only_the_gateway_reads_is_taken_out() -> None:
    """PAR-08."""
    asked = body(reliability={"technique": "none"}, technique={"name": "x"})
    call = DIALECT.decode(asked, orjson.dumps(asked))

    assert call.wishes == {"technique": "none"}
    assert call.relay.raw is None
    assert call.relay.body == body()


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"model": None}, "model"),
        ({"model": 5}, "model"),
        ({"model": ""}, "model"),
        ({"messages": []}, "messages"),
        ({"messages": "hi"}, "messages"),
        ({"max_tokens": None}, "max_tokens"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": -1}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"),
        ({"max_tokens": 1.5}, "max_tokens"),
        ({"stream": "yes"}, "stream"),
        ({"reliability": []}, "reliability"),
    ],
)
def test_a_head_of_the_wrong_type_is_rejected_by_name(fields: JsonObject, param: str) -> None:
    """PAR-10."""
    with pytest.raises(RequestRejected) as rejected:
        DIALECT.decode(body(**fields), b"")

    assert rejected.value.param == param


RICH: JsonObject = body(
    system=[{"type": "text", "text": "s"}],
    messages=[
        {"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "u"}}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": "s"}]},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": []}]},
        {
            "role": "user",
            "content": [{"type": "document", "source": {"type": "text", "data": "d"}}],
        },
    ],
    tools=[{"name": "f", "input_schema": {}, "strict": True}],
    tool_choice={"type": "tool", "name": "f", "disable_parallel_tool_use": True},
    thinking={"type": "enabled", "budget_tokens": 5},
    output_config={"effort": "low", "format": {"type": "json_schema", "schema": {}}},
    metadata={"user_id": "u"},
    stop_sequences=["x"],
    temperature=1,
)
JUNK = st.sampled_from([None, True, 0, -1, 1.5, "", "x", [], {}, [None], ["x"], {"type": "text"}])


def places(value: Json) -> Iterator[tuple[Json, Json]]:
    """Yield every container inside *value*, with each of its keys."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, child in list(inner):
        yield value, key
        if isinstance(child, dict | list):
            yield from places(child)


@given(st.data())
def test_a_body_with_any_wrong_value_is_decoded_or_rejected_by_name(data: st.DataObject) -> None:
    spoilt = orjson.loads(orjson.dumps(RICH))
    container, key = data.draw(st.sampled_from(list(places(spoilt))))
    container[key] = data.draw(JUNK)
    rejected: RequestRejected | None = None
    try:
        DIALECT.decode(spoilt, b"").relay.decode()
    except RequestRejected as error:
        rejected = error

    assert rejected is None or rejected.param
