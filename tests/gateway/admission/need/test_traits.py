from __future__ import annotations

from typing import Any, NoReturn

import orjson
import pytest

from gateway.admission.need.traits import Traits, traits
from gateway.metering.estimate import cost_of, output_tokens
from pricing.cost import cost
from pricing.price import Price
from pricing.usage import Usage
from techniques.core.request import (
    Audio,
    Document,
    Image,
    Message,
    Opaque,
    Part,
    RedactedThinking,
    Relay,
    Request,
    ResponseFormat,
    Sampling,
    Text,
    ThinkingWish,
    Tool,
    ToolCall,
    ToolResult,
    said,
)


def undecoded() -> NoReturn:
    raise AssertionError("a relayed body is not decoded")


def relayed(body: dict[str, Any], *, rewritten: bool = False) -> Traits:
    """Return the traits of a relayed *body*, which may have been changed since it came."""
    raw = None if rewritten else orjson.dumps(body)
    return traits(Request("m", relay=Relay("openai", raw, body, undecoded)))


def turn(*blocks: dict[str, Any]) -> dict[str, Any]:
    """Return a body of one turn with these content blocks."""
    return {"messages": [{"role": "user", "content": list(blocks)}]}


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 9000}}
PICTURE_OF_CLAUDE = {"type": "image", "source": {"type": "base64", "data": "A" * 9000}}
SOUND = {"type": "input_audio", "input_audio": {"data": "A" * 9000, "format": "wav"}}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, None),
        ({"max_tokens": 5}, 5),
        ({"max_completion_tokens": 7}, 7),
        ({"max_tokens": 5, "max_completion_tokens": 7}, 7),
        ({"max_tokens": 7, "max_completion_tokens": 5}, 7),
        ({"max_tokens": True}, None),
        ({"max_tokens": -1}, None),
        ({"max_tokens": "5"}, None),
        ({"max_tokens": 2**62}, None),
        ({"max_tokens": 5, "n": 3}, 15),
        ({"max_tokens": 5, "n": -3}, 5),
        ({"max_tokens": 5, "n": "x"}, 5),
    ],
)
def test_what_a_relayed_body_allows(body: dict[str, Any], expected: int | None) -> None:
    assert relayed(body).stated == expected


_NAMES = {
    "openai_chat": {"max_tokens", "max_completion_tokens"},
    "anthropic": {"max_tokens"},
    "openai_responses": {"max_output_tokens"},
}


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens", "max_output_tokens"])
@pytest.mark.parametrize("dialect", _NAMES)
def test_a_limit_by_a_name_of_another_dialect_limits_nothing(dialect: str, name: str) -> None:
    """A provider overlooks it, and a budget that held no more would be spent by many at once."""
    relay = Relay(dialect, None, {name: 5}, undecoded)
    request = Request("m", relay=relay)
    expected = 5 if name in _NAMES[dialect] else None

    assert traits(request).stated == expected
    price = Price(0, 1_000_000)
    assert cost_of(request, price) == cost(Usage(0, expected or 256), price)
    assert output_tokens(4000, request) == (expected or 1000)


@pytest.mark.parametrize("written", [True, False])
def test_what_all_choices_have_written_is_guessed_within_what_all_may(*, written: bool) -> None:
    """Of an answer that is cut off nobody else tells."""
    body = {"max_tokens": 100, "n": 8}
    request = (
        Request("m", relay=Relay("openai_chat", None, body, undecoded))
        if written
        else Request("m", sampling=Sampling(max_output_tokens=100, n=8))
    )

    assert output_tokens(4 * 600, request) == 600
    assert output_tokens(4 * 6000, request) == 800


def test_no_number_of_choices_is_beyond_measure() -> None:
    assert relayed({"n": 10**9}).choices == 128


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, (False, False, False)),
        ({"tools": [{"type": "function"}]}, (True, False, False)),
        ({"tools": []}, (False, False, False)),
        ({"response_format": {"type": "json_schema"}}, (False, True, False)),
        ({"response_format": {"type": "text"}}, (False, False, False)),
        ({"response_format": {"type": ["x"]}}, (False, False, False)),
        ({"output_config": {"format": {"type": "json_schema"}}}, (False, True, False)),
        ({"output_config": {"effort": "low"}}, (False, False, False)),
        ({"reasoning_effort": "high"}, (False, False, True)),
        ({"reasoning_effort": "none"}, (False, False, False)),
        ({"reasoning_effort": 3}, (False, False, False)),
        ({"thinking": {"type": "enabled", "budget_tokens": 9}}, (False, False, True)),
        ({"thinking": {"type": "disabled"}}, (False, False, False)),
    ],
)
def test_what_a_relayed_body_asks_for(
    body: dict[str, Any], expected: tuple[bool, bool, bool]
) -> None:
    found = relayed(body)

    assert (found.tools, found.schema, found.thinking) == expected


def test_a_relayed_text_weighs_its_bytes() -> None:
    body = {"messages": [{"role": "user", "content": "é" * 100}]}

    assert relayed(body).text_bytes == len(orjson.dumps(body))


@pytest.mark.parametrize("rewritten", [False, True])
@pytest.mark.parametrize("picture", [PICTURE, PICTURE_OF_CLAUDE])
def test_a_picture_is_counted_and_not_weighed(picture: dict[str, Any], *, rewritten: bool) -> None:
    body = turn({"type": "text", "text": "x" * 400}, picture)

    found = relayed(body, rewritten=rewritten)

    assert found.images == 1
    assert 400 < found.text_bytes < 700


def test_a_picture_beside_the_text_of_a_turn_is_counted_and_not_weighed() -> None:
    turns = [{"role": "user", "content": "x" * 400, "images": ["A" * 9000, "A" * 9000]}]

    found = relayed({"messages": turns})

    assert found.images == 2
    assert 400 < found.text_bytes < 700


@pytest.mark.parametrize("rewritten", [False, True])
def test_a_sound_and_a_picture_in_a_result_of_a_tool_are_counted(*, rewritten: bool) -> None:
    result = {"type": "tool_result", "content": [PICTURE_OF_CLAUDE, {"type": "text", "text": "a"}]}

    found = relayed(turn(SOUND, result), rewritten=rewritten)

    assert (found.images, found.sounds) == (1, 1)
    assert found.text_bytes < 500


@pytest.mark.parametrize(
    "messages",
    [None, "x", [None], [{"content": 5, "images": 5}], [{"content": [None, "x", {"type": []}]}]],
)
def test_a_body_of_any_shape_has_traits(messages: object) -> None:
    for rewritten in (False, True):
        assert relayed({"messages": messages}, rewritten=rewritten).images == 0


def test_the_beginning_of_a_long_request_is_told_apart() -> None:
    long = [relayed({"messages": text * 5000}).prefix for text in "aab"]

    assert long[0] == long[1] != long[2]
    assert relayed({"messages": "a"}).prefix is None
    assert traits(Request("m", (said("system", "a" * 5000),))).prefix is not None


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (Text("x" * 40), 40),
        (Text("é" * 40), 80),
        (ToolCall("1", "f" * 8, "x" * 32), 40),
        (Document(text="x" * 40), 40),
        (Document(data="x" * 40), 40),
        (RedactedThinking("x" * 40), 40),
        (ToolResult("1", (Text("x" * 40), Image(data="x"))), 40),
        (Opaque("openai", {"type": "new", "words": "x" * 24}), 40),
        (Audio("x" * 40, "wav"), 0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_parts_weigh_what_they_say(part: Part, expected: int) -> None:
    assert traits(Request("m", (Message("user", (part,)),))).text_bytes == expected


def test_a_spelled_request_tells_all_of_it() -> None:
    request = Request(
        "m",
        (Message("user", (Image(url="u"), Audio("x", "wav"), Text("x" * 10))),),
        tools=(Tool("name", "what", {"type": "object"}), Opaque("openai", {"type": "web"})),
        response_format=ResponseFormat("json_schema", {"type": "object"}),
        sampling=Sampling(max_output_tokens=9, n=2),
        thinking=ThinkingWish(effort="high"),
    )

    found = traits(request)

    assert (found.tools, found.schema, found.thinking) == (True, True, True)
    assert (found.images, found.sounds, found.stated) == (1, 1, 18)
    assert 40 < found.text_bytes < 70
    assert not found.framed


def test_nothing_said_is_nothing_known() -> None:
    assert traits(Request("m", thinking=ThinkingWish("off"))) == Traits()
