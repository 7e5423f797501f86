from __future__ import annotations

import pytest

from techniques.core.events import (
    Event,
    Started,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallStarted,
)
from techniques.parts.guards import Guard
from techniques.parts.window import Window

THREE = "One is here. Two is here. Three is here. "


def check(passage: str) -> Guard | None:
    return "novelty" if "WRONG" in passage else None


def seen(window: Window, *events: Event) -> list[str]:
    """The text that each event lets through."""
    return [
        "".join(event.text for event in window.take(each) if isinstance(event, TextDelta))
        for each in events
    ]


def test_nothing_is_seen_before_two_passages_have_passed() -> None:
    window = Window(check, 2)
    pieces = ["One is", " here. Two", " is here", ". Three is here.", " And"]
    found = seen(window, *map(TextDelta, pieces))
    assert found == ["", "", "", "One is here. Two is here.", " Three is here."]


def test_what_comes_before_the_text_is_held_back_with_it() -> None:
    window = Window(check, 2)
    assert window.take(Started()) == []
    assert window.take(ThinkingDelta("hm")) == []
    first, second, *_ = window.take(TextDelta(THREE))
    assert (first, second) == (Started(), ThinkingDelta("hm"))


@pytest.mark.parametrize("size", [1, 5, 100])
def test_a_wrong_passage_at_the_beginning_keeps_all_back(size: int) -> None:
    text = "One is here. Two is WRONG. Three is here. Four is here. "
    window = Window(check, 2)
    pieces = [TextDelta(text[start : start + size]) for start in range(0, len(text), size)]
    assert "".join(seen(window, *pieces)) == ""
    assert (window.failed, window.broken, window.opened) == (True, "novelty", False)


@pytest.mark.parametrize("size", [1, 5, 100])
def test_a_wrong_passage_later_is_seen_and_known(size: int) -> None:
    text = "One is here. Two is here. Three is WRONG. Four is here. "
    window = Window(check, 2)
    pieces = [TextDelta(text[start : start + size]) for start in range(0, len(text), size)]
    assert "".join(seen(window, *pieces)) == text.rstrip()
    assert (window.failed, window.broken, window.opened) == (False, "novelty", True)


def test_the_rest_is_looked_at_without_being_let_through() -> None:
    window = Window(check, 2)
    window.take(TextDelta("One is WRONG"))
    window.finish()
    assert (window.broken, window.opened) == ("novelty", False)


def test_the_rest_can_be_let_through_at_the_end() -> None:
    window = Window(check, 2)
    window.take(TextDelta("One is here"))
    window.finish()
    assert window.rest() == [TextDelta("One is here")]
    assert window.opened


def test_a_call_of_a_tool_is_never_seen() -> None:
    window = Window(check, 2)
    window.take(TextDelta(THREE))
    assert window.take(ToolCallStarted(0, "1", "dive")) == []
    assert window.take(ToolCallDelta(0, "{}")) == []
    assert window.broken == "form"


def test_parts_of_an_answer_keep_their_order() -> None:
    window = Window(check, 1)
    window.take(TextDelta("One is here. Two"))
    assert window.take(ThinkingDelta("hm")) == [TextDelta(" Two"), ThinkingDelta("hm")]


def test_with_nothing_to_hold_text_is_seen_as_it_comes() -> None:
    window = Window(check, 0)
    assert window.take(Started()) == []
    assert window.take(TextDelta("")) == []
    assert window.take(TextDelta("WRONG")) == [Started(), TextDelta(""), TextDelta("WRONG")]
    assert window.take(TextDelta(" x")) == [TextDelta(" x")]
    assert window.broken is None
