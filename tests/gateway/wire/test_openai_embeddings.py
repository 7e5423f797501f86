from __future__ import annotations

import orjson
import pytest

from gateway.wire.openai_embeddings import OpenAIEmbeddings
from techniques.core.errors import RequestRejected
from techniques.core.json import Json

DIALECT = OpenAIEmbeddings()


def body(**fields: Json) -> dict[str, Json]:
    return {"model": "e", "input": "hello", **fields}


@pytest.mark.parametrize(
    "given", ["a", ["a", "b"], [""], [1, 2], [[1], [2, 3]]], ids=["text", "texts", "", "t", "tt"]
)
def test_all_forms_of_input_are_passed_on(given: Json) -> None:
    asked = body(input=given)
    raw = orjson.dumps(asked)

    call = DIALECT.decode(asked, raw)

    assert (call.dialect, call.model, call.streamed) == ("openai_embeddings", "e", False)
    assert (call.relay.raw, call.relay.body) == (raw, asked)


@pytest.mark.parametrize(
    ("changes", "param"),
    [
        ({"model": None}, "model"),
        ({"model": ""}, "model"),
        ({"input": None}, "input"),
        ({"input": ""}, "input"),
        ({"input": []}, "input"),
        ({"input": [[]]}, "input"),
        ({"input": 7}, "input"),
        ({"input": {"text": "a"}}, "input"),
        ({"input": ["a", 1]}, "input"),
        ({"input": [1, True]}, "input"),
        ({"input": [1.5]}, "input"),
        ({"input": [[1], ["a"]]}, "input"),
        ({"input": [None]}, "input"),
        ({"encoding_format": "int8"}, "encoding_format"),
        ({"dimensions": 0}, "dimensions"),
        ({"dimensions": "3"}, "dimensions"),
        ({"user": 5}, "user"),
        ({"reliability": 5}, "reliability"),
    ],
)
def test_a_wrong_field_is_named(changes: dict[str, Json], param: str) -> None:
    asked = body(**changes)
    with pytest.raises(RequestRejected) as raised:
        DIALECT.decode(asked, orjson.dumps(asked))

    assert raised.value.param == param


def test_what_is_for_the_gateway_alone_is_taken_out() -> None:
    asked = body(reliability={"tags": "t"}, technique="none")

    call = DIALECT.decode(asked, orjson.dumps(asked))

    assert call.wishes == {"technique": "none", "tags": "t"}
    assert (call.relay.raw, call.relay.body) == (None, body())


def test_no_provider_of_another_kind_can_spell_it_out() -> None:
    call = DIALECT.decode(body(), b"")

    with pytest.raises(RequestRejected, match="no embeddings"):
        call.relay.decode()
