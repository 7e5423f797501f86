from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.wire.body import MAX_DEPTH, parse
from techniques.core.errors import RequestRejected
from techniques.core.json import Json


@pytest.mark.parametrize(
    ("raw", "body"),
    [
        (b"{}", {}),
        (b' {"a" : [1, {"b": null}] } ', {"a": [1, {"b": None}]}),
        (b'{"a":"b:c"}', {"a": "b:c"}),
        (b'{"a":{"x":1},"b":{"x":2}}', {"a": {"x": 1}, "b": {"x": 2}}),
        ('{"ü":"\U0001f600"}'.encode(), {"ü": "\U0001f600"}),
        (rb'{"a":"\ud83d\ude00"}', {"a": "\U0001f600"}),
        (b'{"a": "\\u0000", "t": "10:30"}', {"a": "\0", "t": "10:30"}),
    ],
)
def test_an_object_is_read(raw: bytes, body: Json) -> None:
    assert parse(raw) == body


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b'{"a":1}{',
        b"{'a':1}",
        b'{"a":1,}',
        b'{"a":NaN}',
        b'{"a":Infinity}',
        b'{"a":-Infinity}',
        b'{"a":1e999}',
        b'{"a":"\xff"}',
        b'{"a":"\xc3"}',
        rb'{"a":"\ud800"}',
        rb'{"\udc00":1}',
        b'{"a":"\xed\xa0\x80"}',
        b'{"a":01}',
        b'{"a":"\n"}',
        b'\xef\xbb\xbf{"a":1}',
        '{"a":1}'.encode("utf-16"),
        b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
    ids=lambda raw: repr(raw[:16]),
)
def test_what_is_no_strict_json_is_refused(raw: bytes) -> None:
    with pytest.raises(RequestRejected, match="not valid JSON"):
        parse(raw)


@pytest.mark.parametrize("raw", [b"[]", b"null", b'"text"', b"1", b"true"])
def test_json_that_is_no_object_is_refused(raw: bytes) -> None:
    with pytest.raises(RequestRejected, match="must be a JSON object"):
        parse(raw)


@pytest.mark.parametrize(
    ("raw", "twin"),
    [
        (b'{"a":1,"a":1}', "a"),
        (rb'{"a":1,"\u0061":2}', "a"),
        (b'{"model":"x","messages":[],"model":"y"}', "model"),
        (b'{"m":[{"c":{"role":1,"role":2}}]}', "role"),
        (b'{"":1,"":2}', ""),
        (b'{"a":{},"a":{"b":1}}', "a"),
        (b'{"a":1,"a":"::::"}', "a"),
        (rb'{"a:":1,"a\u003a":2}', "a:"),
    ],
)
def test_a_name_that_stands_twice_is_refused_and_named(raw: bytes, twin: str) -> None:
    with pytest.raises(RequestRejected, match="stands twice") as caught:
        parse(raw)

    assert caught.value.param == twin


@pytest.mark.parametrize(("opened", "closed"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_depth_is_bounded(opened: bytes, closed: bytes) -> None:
    def nested(levels: int) -> bytes:
        """Return an object that is *levels* deep, itself included."""
        return b'{"x":' + opened * (levels - 1) + b"1" + closed * (levels - 1) + b"}"

    assert parse(nested(MAX_DEPTH))
    for depth in (MAX_DEPTH + 1, 300, 5_000):  # at 255 the writer of JSON gives up, too
        with pytest.raises(RequestRejected):
            parse(nested(depth))


def test_the_depth_of_a_short_body_is_none_of_its_brackets() -> None:
    assert parse(b'{"a":[%b]}' % b",".join([b"{}"] * 100))
    assert parse(b'{"a":"%b"}' % (b"[" * 100))


@pytest.mark.parametrize("number", [b"1" * 5000, b"0." + b"1" * 5000, b"-" + b"9" * 300])
def test_long_numbers_cost_no_more_than_a_refusal(number: bytes) -> None:
    try:
        assert isinstance(parse(b'{"a":":","b":%b}' % number)["b"], float)
    except RequestRejected:
        assert len(number) > 4000


NAMES = st.sampled_from(["a", "b", ":", "ü", 'q"', "\\"])
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", ":", "a:b", '"', "\\"]),
    lambda inner: st.lists(inner, max_size=3) | st.lists(st.tuples(NAMES, inner), max_size=4),
    max_leaves=12,
)


def written(value: Any, space: str, *, escaped: bool) -> str:
    """Write *value*, in which a list of pairs is an object; so names may stand twice."""
    if isinstance(value, list) and value and all(isinstance(part, tuple) for part in value):
        pairs = (
            f"{json.dumps(name, ensure_ascii=escaped)}{space}:{written(v, space, escaped=escaped)}"
            for name, v in value
        )
        return "{" + f",{space}".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(written(part, space, escaped=escaped) for part in value) + "]"
    return json.dumps(value, ensure_ascii=escaped)


def slowly(text: str) -> Json | None:
    """Read *text* by the standard library; None where a name stands twice."""
    twins: list[str] = []

    def pairs(found: list[tuple[str, Json]]) -> dict[str, Json]:
        names = [name for name, _ in found]
        twins.extend(name for name in names if names.count(name) > 1)
        return dict(found)

    read = json.loads(text, object_pairs_hook=pairs)
    return None if twins else read


@given(st.lists(st.tuples(NAMES, VALUES), min_size=1, max_size=4), st.booleans(), st.booleans())
def test_it_reads_what_a_slow_reader_reads(
    pairs: list[tuple[str, Any]],
    spaced: bool,  # noqa: FBT001
    escaped: bool,  # noqa: FBT001
) -> None:
    text = written(pairs, " " if spaced else "", escaped=escaped)
    try:
        read = parse(text.encode())
    except RequestRejected:
        read = None

    assert read == slowly(text)
