"""Vectors are taken out of an answer wherever it is cut, and it is the same again."""

from __future__ import annotations

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.upstream.embeddings.sheet import Scanner, scanned
from techniques.core.json import Json
from tests.fakes.embeddings import answer_to, packed

FLOATS = st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), max_size=5)


@st.composite
def answers(draw: st.DrawFn) -> tuple[bytes, list[Json]]:
    """Draw an answer as some host writes it, and its vectors."""
    vectors = draw(st.lists(FLOATS, max_size=4))
    packs = draw(st.booleans())
    written: list[Json] = [packed(v) if packs else v for v in vectors]
    rows = [{"object": "embedding", "index": i, "embedding": v} for i, v in enumerate(written)]
    name = draw(st.sampled_from(["m", 'an "embedding": [1]', "größer", "a/b"]))
    value = {"data": rows, "model": name, "usage": {"prompt_tokens": len(rows)}}
    indent = draw(st.sampled_from([None, 0, 4]))
    text = json.dumps(value, indent=indent, ensure_ascii=draw(st.booleans()))
    slashed = draw(st.booleans())  # as PHP writes them
    return (text.replace("/", "\\/") if slashed else text).encode(), written


@given(answers(), st.lists(st.integers(1, 80), max_size=30))
def test_what_was_taken_apart_is_the_same_again(
    drawn: tuple[bytes, list[Json]], sizes: list[int]
) -> None:
    body, vectors = drawn
    scanner, at = Scanner(), 0
    for size in [*sizes, len(body)]:
        scanner.feed(body[at : at + size])
        at += size

    sheet = scanner.sheet()
    value = sheet.value()

    woven = zip(sheet.frame, [*sheet.vectors, b""], strict=True)
    assert b"".join(piece for pair in woven for piece in pair) == body
    assert [orjson.loads(vector) for vector in sheet.vectors] == vectors
    assert [row["embedding"] for row in value["data"]] == list(range(len(vectors)))
    assert value["usage"] == {"prompt_tokens": len(vectors)}


@given(answers(), st.sampled_from(["float", "base64"]))
def test_numbers_in_either_form_are_the_same_32_bit_floats(
    drawn: tuple[bytes, list[Json]], form: str
) -> None:
    body, vectors = drawn
    scanner = Scanner("base64" if form == "base64" else "float")
    for at in range(0, len(body), 7):
        scanner.feed(body[at : at + 7])

    handed = b"".join(scanner.pieces())
    if all(isinstance(v, str) == (form == "base64") for v in vectors):
        assert handed == body
    changed = orjson.loads(handed)

    told = [row["embedding"] for row in changed["data"]]
    kind = str if form == "base64" else list
    assert all(isinstance(vector, kind) for vector in told)
    assert [v if isinstance(v, str) else packed(v) for v in told] == [
        v if isinstance(v, str) else packed(v) for v in vectors
    ]


def test_vectors_of_vectors_stay_as_they_are() -> None:
    body = orjson.dumps({"data": [{"index": 0, "embedding": [[1, 2], [3]]}], "usage": {}})
    scanner = Scanner("base64")
    scanner.feed(body)

    assert b"".join(scanner.pieces()) == body
    assert scanned([body]).value() == orjson.loads(body)


def test_what_is_no_json_is_told() -> None:
    with pytest.raises(ValueError, match=r".+"):
        scanned([b'{"data": [{"embedding": [1, 2]}']).value()


def test_what_is_no_base64_stays() -> None:
    body = orjson.dumps({"data": [{"embedding": "no base64!"}, {"embedding": "YWJj"}]})
    scanner = Scanner("float")
    scanner.feed(body)

    assert b"".join(scanner.pieces()) == body


def test_a_large_answer_is_read_in_time_that_grows_with_it_alone() -> None:
    """Bytes are moved once: with a search from the start for each piece this takes minutes."""
    body = orjson.dumps(answer_to({"model": "m", "input": ["word " * 40] * 20_000}))
    scanner = Scanner()
    for at in range(0, len(body), 4096):
        scanner.feed(body[at : at + 4096])

    assert len(scanner.sheet().vectors) == 20_000
