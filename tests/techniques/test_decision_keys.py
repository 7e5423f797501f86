from __future__ import annotations

import gc
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from techniques.core.json import Json
from techniques.core.reply import Reply, replied
from techniques.core.request import ResponseFormat, Tool, ToolCall
from techniques.parts.answers import Expected, expect
from techniques.parts.decisions import read_json
from techniques.parts.keys import key_of
from tests.techniques.scene import asks, calls

WEATHER: Json = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer", "default": 1},
        "where": {"type": "object", "properties": {"unit": {"default": "km"}}},
    },
}
TOOLS = expect(asks(tools=(Tool("weather", parameters=WEATHER), Tool("time"))))


ARGUMENTS = st.dictionaries(
    st.text(min_size=1, max_size=5),
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(max_size=5)
    | st.lists(st.integers(0, 9), max_size=3),
    max_size=4,
)


@given(ARGUMENTS, st.randoms())
def test_a_tool_key_does_not_see_order_and_white_space(arguments: Json, random: Json) -> None:
    items = list(arguments.items())
    random.shuffle(items)
    one = key_of(calls("time", json.dumps(arguments)), TOOLS)
    other = key_of(calls("time", json.dumps(dict(items), indent=3, ensure_ascii=False)), TOOLS)
    assert one == other


@given(st.integers(-(10**6), 10**6))
def test_a_tool_key_does_not_see_how_a_whole_number_is_written(value: int) -> None:
    forms = [f'{{"days": {value}}}', f'{{"days": {value}.0}}']
    assert len({key_of(calls("time", form), TOOLS) for form in forms}) == 1


def test_a_tool_key_has_the_defaults_filled_in() -> None:
    said_so = key_of(
        calls("weather", '{"city": "Rome ", "days": 1, "where": {"unit": "km"}}'), TOOLS
    )
    left_out = key_of(calls("weather", '{"where": {}, "city": "Rome"}'), TOOLS)
    assert said_so == left_out
    assert said_so != key_of(calls("weather", '{"city": "Rome", "days": 2, "where": {}}'), TOOLS)


def test_a_tool_key_tells_true_from_one_and_text_from_number() -> None:
    forms = ['{"x": true}', '{"x": 1}', '{"x": "1"}']
    assert len({key_of(calls("time", form), TOOLS) for form in forms}) == 3


def test_the_order_of_parallel_calls_does_not_count() -> None:
    rome, oslo = (ToolCall(city, "weather", f'{{"city": "{city}"}}') for city in ("Rome", "Oslo"))
    assert key_of(Reply((rome, oslo)), TOOLS) == key_of(Reply((oslo, rome)), TOOLS)


def test_empty_and_broken_arguments_have_keys_too() -> None:
    assert key_of(calls("time", ""), TOOLS) == key_of(calls("time", "{}"), TOOLS)
    assert key_of(calls("time", "{oops "), TOOLS) == 'tool|time("{oops")'


SCHEMA: Json = {
    "type": "object",
    "properties": {
        "verdict": {"type": "string", "enum": ["a" * 70, "no"]},
        "note": {"type": "string", "maxLength": 200},
        "code": {"type": "string", "maxLength": 3},
    },
}


def test_a_json_key_is_made_of_decisions_and_leaves_prose_out() -> None:
    expected = json_expected(SCHEMA)
    one = {"verdict": "a" * 70, "note": "x", "code": "A1", "reason": "because", "n": 1.0, "l": [1]}
    other = {"l": [1], "n": 1, "reason": "so", "code": "A1", "note": "y", "verdict": "a" * 70}
    assert json_key(one, expected) == json_key(other, expected)
    assert json_key({**one, "code": "B1"}, expected) != json_key(one, expected)
    assert json_key({**one, "l": [2]}, expected) != json_key(one, expected)


def test_json_of_prose_alone_is_alike_only_to_its_own_words() -> None:
    expected = json_expected({})
    assert str(json_key({"summary": "so"}, expected)).startswith("text|")
    assert str(key_of(replied("no json"), expected)).startswith("text|")


def test_json_nested_without_end_is_no_answer() -> None:
    deep = "[" * 500 + "]" * 500
    assert str(key_of(replied(deep), json_expected({}))).startswith("text|")


ODD = st.text(alphabet='a[]{}"\\', max_size=6)
NESTED = st.recursive(
    st.integers(0, 9) | ODD,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD, inner, max_size=3),
    max_leaves=12,
)


def depth(value: Json) -> int:
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(map(depth, inner), default=0) if isinstance(value, dict | list) else 0


@given(NESTED, st.integers(50, 70))
def test_json_is_read_if_no_more_than_64_values_are_within_each_other(
    value: Json, around: int
) -> None:
    text = "[" * around + json.dumps(value) + "]" * around
    if depth(value) + around > 64:
        with pytest.raises(ValueError, match="too deep"):
            read_json(text)
    else:
        assert json.dumps(read_json(text)) == json.dumps(json.loads(text))


def test_cycles_are_looked_for_after_json_was_read_as_before() -> None:
    for text in ("[1]", "[", "[" * 65 + "]" * 65):
        with suppress(ValueError):
            read_json(text)
        assert gc.isenabled()


def json_expected(schema: Json) -> Expected:
    return expect(asks(response_format=ResponseFormat("json_schema", schema)))


def json_key(value: Json, expected: Expected) -> str | None:
    return key_of(replied(json.dumps(value)), expected)
