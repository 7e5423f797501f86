from __future__ import annotations

from dataclasses import replace

import pytest

from techniques.core.reply import Reply, replied
from techniques.core.request import Refusal, Request, ResponseFormat, Text, Thinking, ToolCall
from techniques.parts.answers import expect
from techniques.parts.candidates import Candidate
from techniques.parts.checks import Checks
from techniques.parts.guards import Guards, majority
from tests.techniques.scene import asks, calls

SEA = asks("Tell me of the sea; it has 5 oceans.")
LONG = "The sea is deep and salt, and 71 percent of the earth lies under it. " * 4


def guards(*texts: str, request: Request = SEA) -> Guards:
    candidates = [
        Candidate(place, replied(text), f"text|{text}") for place, text in enumerate(texts)
    ]
    return Guards(candidates, request, Checks(request), expect(request))


def keyed(*keys: str | None, weights: tuple[float, ...] = ()) -> list[Candidate]:
    weighing = weights or (1.0,) * len(keys)
    return [
        Candidate(place, replied(str(key)), key, weight=weight)
        for place, (key, weight) in enumerate(zip(keys, weighing, strict=True))
    ]


@pytest.mark.parametrize(
    "reply",
    [
        replied(""),
        replied("The sea is", "length"),
        replied("The sea", "content_filter"),
        Reply((Refusal("No."),), "refusal"),
        replied("I'm sorry, but I can't help with that."),
        calls("dive", "{}"),
        Reply((Text("The sea."), ToolCall("1", "dive", "{}")), "tool_calls"),
    ],
)
def test_what_is_no_answer_breaks_the_form(reply: Reply) -> None:
    assert guards("The sea is deep.").whole(reply) == "form"


def test_json_out_of_its_form_breaks_the_form() -> None:
    request = replace(SEA, response_format=ResponseFormat("json_object"))
    found = guards('{"deep": 1}', request=request)
    assert found.whole(replied("The sea is deep.")) == "form"
    assert found.whole(replied('{"deep": 1}')) is None


def test_what_candidates_and_conversation_say_may_be_said() -> None:
    found = guards("The sea is 11 km deep.", "It is salt.")
    assert found.whole(replied("The 5 oceans are salt, and up to 11 km deep.")) is None


def test_thinking_of_a_candidate_is_no_source() -> None:
    thought = Candidate(0, Reply((Thinking("It is 42."), Text("It is deep."))))
    found = Guards([thought], SEA, Checks(SEA), expect(SEA))
    assert found.whole(replied("It is 42 deep.")) == "novelty"


def test_a_text_much_longer_than_any_candidate_is_too_long() -> None:
    found = guards(LONG, "It is salt.")
    assert found.whole(replied("x" * int(1.6 * len(LONG)))) is None
    assert found.whole(replied("x" * (int(1.6 * len(LONG)) + 1))) == "length"


def test_a_few_sentences_are_never_too_long() -> None:
    assert guards("Deep.", "Salt.").whole(replied("The sea is deep. " * 10)) is None


def test_a_refusal_shows_in_its_first_passage() -> None:
    assert guards("The sea is deep.").passage("I can't help with that.") == "form"
    found = guards("The sea is deep.")
    assert found.passage("The sea is deep.") is None
    assert found.passage(" I can't help with that.") is None


def test_passages_are_too_long_together() -> None:
    found = guards(LONG)
    assert [found.passage("x" * 300) for _ in range(2)] == [None, "length"]


def test_a_passage_is_looked_through_for_what_nobody_said() -> None:
    found = guards("The sea is 11 km deep.")
    assert found.passage("It is 11 km deep.") is None
    assert found.passage(" It is 12 km deep.") == "novelty"


def test_what_most_conclude_must_be_concluded() -> None:
    candidates = [
        Candidate(0, replied("It is deep. Answer: no"), "short|no"),
        Candidate(1, replied("Answer: no"), "short|no"),
        Candidate(2, replied("Answer: yes"), "short|yes"),
    ]
    found = Guards(candidates, SEA, Checks(SEA), expect(SEA))
    assert found.whole(replied("It is deep.\nAnswer: no")) is None
    assert found.whole(replied("It is deep.\nAnswer: yes")) == "key"
    assert found.whole(replied("It is deep, and there is more to be said than can be.\n" * 2)) == (
        "key"
    )
    assert found.passage("It is deep.") is None
    assert found.passage("\nAnswer: yes") == "key"


def test_only_what_can_be_stated_by_more_than_half_is_the_majority() -> None:
    assert majority(keyed("short|a", "short|a", "short|b")) == "short|a"
    assert majority(keyed("short|a", "short|b")) is None
    assert majority(keyed("short|a", "short|b", weights=(0.9, 0.2))) == "short|a"
    assert majority(keyed("short|a", None, None)) is None
    assert majority(keyed("text|a", "text|a")) is None
    assert majority(keyed("code|a", "code|a")) is None
    assert majority([]) is None
