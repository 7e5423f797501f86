"""Streamed tool calls are told apart, and choices known, by whatever a host gives of them."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.gateway.upstream.openai_chat_bytes import (
    DONE,
    ROLE,
    STOP,
    bare,
    chunk,
    decoding,
    drain,
    folded,
    frame,
    payloads,
    relaying,
    sent,
)

ONE, TWO = '{"x":1}', '{"x":2}'
APART = [("f", ONE), ("g", TWO)]
Piece = tuple[str | None, Any]


def delta(name: str | None, arguments: Any, **more: Any) -> dict[str, Any]:
    function = {"arguments": arguments, **({"name": name} if name is not None else {})}
    return {"tool_calls": [{**more, "function": function}]}


def stream(*deltas: dict[str, Any]) -> bytes:
    return ROLE + b"".join(map(chunk, deltas)) + chunk(finish="tool_calls") + DONE


def read(data: bytes) -> list[tuple[str, str]]:
    """Return the calls in *data*; a client to whom it is relayed is told the same."""
    found = [(one.name, one.arguments) for one in folded(drain(decoding(), data)).tool_calls]
    choices = [one["choices"][0] for one in payloads(sent(drain(relaying(), data)))]
    told = [call for choice in choices for call in choice["delta"].get("tool_calls") or ()]
    texts: dict[int, str] = {}
    for call in told:
        texts.setdefault(call["index"], "")
        texts[call["index"]] += call["function"]["arguments"] or ""
    assert list(texts) == list(range(len(found)))
    assert [text or "{}" for text in texts.values()] == [text or "{}" for _, text in found]
    return found


@pytest.mark.parametrize("more", [{}, {"index": 0}, {"index": 1}, {"index": "0"}, {"id": ""}])
@pytest.mark.parametrize(
    ("pieces", "calls"),
    [
        ([("f", ONE), ("g", TWO)], APART),
        ([("f", {"x": 1}), ("g", {"x": 2})], APART),
        ([("f", ""), (None, '{"x":'), (None, "1}"), ("g", None), (None, TWO)], APART),
        ([("f", '{"x":'), ("", "1}"), ("g", '{"x":'), ("", "2}")], APART),
        ([("f", '{"x":'), ("f", "1}"), ("g", '{"x":'), ("g", "2}")], APART),
        ([("f", ONE), ("f", TWO)], [("f", ONE), ("f", TWO)]),
        ([("f", ONE), ("g", TWO), ("f", TWO)], [*APART, ("f", TWO)]),
        ([("f", ONE), ("f", ""), ("f", None)], [("f", ONE)]),
        ([("f", ""), ("f", '{"x":'), ("f", "1}")], [("f", ONE)]),
    ],
)
def test_a_name_after_the_arguments_of_another_call_begins_a_call(
    pieces: list[Piece], calls: list[tuple[str, str]], more: dict[str, Any]
) -> None:
    assert read(stream(*(delta(*piece, **more) for piece in pieces))) == calls


def test_pieces_with_the_id_of_a_call_are_its_own_whatever_their_name() -> None:
    pieces = [delta("f", '{"x":', id="a", index=0), delta("g", "1}", id="a", index=0)]
    assert read(stream(*pieces)) == [("f", ONE)]


@pytest.mark.parametrize("more", [{"index": True}, {"index": "x"}, {"index": [0]}, {"index": 0.0}])
def test_an_index_that_is_none_is_no_index(more: dict[str, Any]) -> None:
    pieces = [delta("f", '{"x":', **more), delta(None, "1}", **more), delta("g", TWO, **more)]
    assert read(stream(*pieces)) == APART


@pytest.mark.parametrize("odd", [5, None, "f", [], ["f"], True, 1.5])
def test_what_is_no_call_in_a_list_of_calls_is_passed_over(odd: Any) -> None:
    one = delta("f", ONE, index=0, id="a")
    one["tool_calls"].insert(0, odd)
    assert read(stream({"tool_calls": [odd]}, one)) == [("f", ONE)]


@pytest.mark.parametrize("odd", [5, None, [], ["f"], {}, True, 1.5])
def test_what_is_no_list_of_calls_is_none(odd: Any) -> None:
    assert read(stream({"tool_calls": odd})) == []


@pytest.mark.parametrize("index", [0, "0", "00", 0.0, None, "", "x", [], {}, False])
def test_text_of_the_first_choice_is_read_however_its_index_is_written(index: Any) -> None:
    said = {"index": index, "delta": {"content": "so"}, "finish_reason": None}
    data = ROLE + frame(bare(choices=[said])) + STOP + DONE
    (told,) = [
        choice
        for one in payloads(sent(drain(relaying(), data)))
        for choice in one["choices"]
        if choice["delta"].get("content")
    ]

    assert folded(drain(decoding(), data)).text == "so"
    assert (type(told["index"]), told["index"]) == (int, 0)


@pytest.mark.parametrize("index", [1, "1", 1.0])
def test_text_of_another_choice_is_not_that_of_the_first(index: Any) -> None:
    other = {"index": index, "delta": {"content": "or"}, "finish_reason": None}
    data = ROLE + chunk({"content": "so"}) + frame(bare(choices=[other])) + STOP + DONE
    told = payloads(sent(drain(relaying(), data)))

    assert folded(drain(decoding(), data)).text == "so"
    assert [one["choices"][0]["index"] for one in told if one["choices"][0]["index"]] == [1]


def test_to_tell_many_calls_apart_takes_time_by_their_number() -> None:
    many = stream(*(delta("f", '{"x":[' + "[" * 50, index=0) for _ in range(4000)))
    start = time.thread_time()
    folded(drain(decoding(), many))

    assert time.thread_time() - start < 2
