from __future__ import annotations

import pytest

from gateway.metering.estimate import input_tokens, output_tokens
from techniques.core.request import (
    Audio,
    Document,
    Image,
    Message,
    Part,
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
