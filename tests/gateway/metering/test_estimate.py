from __future__ import annotations

import pytest

from gateway.metering.estimate import asked_at, cost_of, images, input_tokens, output_tokens
from pricing.price import Price
from techniques.core.errors import RequestRejected
from techniques.core.json import Json
from techniques.core.request import (
    Audio,
    Document,
    Image,
    Message,
    Part,
    Relay,
    Request,
    Sampling,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

A_TURN = 4
"""Tokens that a turn costs beside its words."""


def tokens(*parts: Part) -> int:
    """Return the guess for one turn of *parts*, without the turn itself."""
    return input_tokens(Request("m", (Message("user", parts),))) - A_TURN


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (Text("x" * 40), 10),
        (Thinking("x" * 40), 10),
        (ToolCall("1", "f" * 8, "x" * 32), 10),
        (Document(text="x" * 40), 10),
        (Document(data="x" * 40), 10),
        (Document(url="https://example.org/a"), 0),
        (ToolResult("1", (Text("x" * 40), Text("x" * 40))), 20),
        (Audio("x" * 40, "wav"), 0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_words_are_four_characters_a_token(part: Part, expected: int) -> None:
    assert tokens(part) == expected


def test_a_picture_is_worth_hundreds_of_words() -> None:
    assert tokens(Image(url="https://example.org/a.png")) > 500
    assert tokens(ToolResult("1", (Image(data="x" * 9),))) > 500


def test_parts_and_turns_add_up() -> None:
    turn = Message("user", (Text("x" * 40), Text("x" * 40)))

    assert input_tokens(Request("m", (turn, turn))) == 2 * (A_TURN + 20)


def test_nothing_is_at_least_one_token_of_input_and_none_of_output() -> None:
    assert input_tokens(Request("m")) == 1
    assert output_tokens(0, Request("m")) == 0


def test_a_started_token_of_output_is_one() -> None:
    assert [output_tokens(n, Request("m")) for n in (1, 4, 5)] == [1, 1, 2]


def test_output_is_never_guessed_beyond_what_was_allowed() -> None:
    assert output_tokens(400, Request("m", sampling=Sampling(max_output_tokens=7))) == 7


PLAIN = Price(10, 100)
FLEX, FAST = Price(1, 10), Price(50, 500)
MODAL = Price(10, 100, modes=(("flex", FLEX), ("fast", FAST)))


def relayed(body: dict[str, Json]) -> Request:
    return Request("m", relay=Relay("openai_chat", b"x" * 40, body, lambda: Request("m")))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, [MODAL]),
        ({"service_tier": "auto"}, [MODAL]),
        ({"service_tier": 7}, [MODAL]),
        ({"service_tier": "flex"}, [MODAL, FLEX]),
        ({"speed": "fast"}, [MODAL, FAST]),
    ],
)
def test_a_request_may_be_served_as_it_asks_or_as_usual(
    body: dict[str, Json], expected: list[Price]
) -> None:
    assert asked_at(relayed(body), MODAL) == expected


def test_what_a_request_will_cost_is_the_dearer_of_both() -> None:
    usual = {"max_tokens": 5}

    assert cost_of(relayed(usual), MODAL) == 10 * 10 + 5 * 100
    assert cost_of(relayed({**usual, "service_tier": "flex"}), MODAL) == 10 * 10 + 5 * 100
    assert cost_of(relayed({**usual, "speed": "fast"}), MODAL) == 10 * 50 + 5 * 500


def test_a_request_will_cost_what_holds_now() -> None:
    price = Price(1, 1, until=1.0, then=PLAIN)

    assert asked_at(Request("m"), price) == [PLAIN]


def test_pictures_are_counted_in_turns_and_in_results_of_tools() -> None:
    turn = Message("user", (Image(url="u"), Text("?"), ToolResult("1", (Image(url="v"),))))
    asked = Request("m", (turn, turn))

    assert images(asked, Price(1, 1, image=9)) == 4
    assert images(asked, PLAIN) == 0
    assert cost_of(asked, Price(0, 0, image=9)) == 36


def test_a_body_that_cannot_be_read_has_no_pictures_that_could_be_counted() -> None:
    def refuse() -> Request:
        raise RequestRejected("No such thing.")

    asked = Request("m", relay=Relay("openai_chat", b"x", {}, refuse))

    assert images(asked, Price(1, 1, image=9)) == 0
