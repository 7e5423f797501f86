"""Plain chunks are told from others, by reading them or by what stands around their text."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.upstream.providers.openai_chat.plain import PlainChunks, plain
from techniques.core.json import JsonObject


def chunk(content: str, **more: object) -> bytes:
    said: JsonObject = {
        "id": "c-1",
        "choices": [{"index": 0, "delta": {"content": content}, "finish_reason": None}],
        **more,
    }
    return b"data: " + orjson.dumps(said) + b"\n\n"


def experienced() -> PlainChunks:
    chunks = PlainChunks()
    assert chunks.said(chunk("Hello")) == 5
    return chunks


@given(st.text())
def test_any_text_is_counted_as_if_it_were_read(text: str) -> None:
    assert experienced().said(chunk(text)) == len(text)


@given(st.binary(max_size=6))
def test_bytes_in_the_texts_place_are_plain_only_if_they_are_json(text: bytes) -> None:
    data = chunk("@@").replace(b"@@", text)

    try:
        expected = sum(plain(orjson.loads(event[6:])) for event in data.split(b"\n\n")[:-1])
    except ValueError:
        expected = -1

    assert experienced().said(data) == expected


@pytest.mark.parametrize(
    "data",
    [
        chunk("x").replace(b'"x"', b'"'),
        chunk("x").replace(b'"finish_reason":null', b'"finish_reason":"stop"'),
        chunk("x", usage={"prompt_tokens": 1}),
        chunk("x", error={"message": "no"}),
        chunk("x")[:-1],
        chunk("x")[:-1] + b"x",
        b": ping\n\n",
        b"event: error\n" + chunk("x"),
        b"data: [DONE]\n\n",
        chunk("x") + b"data: [DONE]\n\n",
    ],
)
def test_what_is_more_than_text_is_not_plain(data: bytes) -> None:
    assert experienced().said(data) == -1


def test_several_plain_chunks_at_once_are_plain() -> None:
    assert experienced().said(chunk("ab") + chunk('"') + chunk("c")) == 4


def test_text_that_is_not_the_content_is_not_taken_for_it() -> None:
    chunks = PlainChunks()
    delta = {"reasoning": "abc"}
    said: JsonObject = {"choices": [{"index": 0, "delta": delta, "x": {"content": "xyz"}}]}
    data = b"data: " + orjson.dumps(said) + b"\n\n"

    assert chunks.said(data) == 3
    assert chunks.said(data.replace(b"xyz", b"xyz, and more")) == 3
