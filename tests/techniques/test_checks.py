from __future__ import annotations

import json
from dataclasses import replace

import pytest

from techniques.core.errors import DeadlinePassed, RequestRejected, TechniqueFailed, UpstreamFailed
from techniques.core.fanout import Outcome
from techniques.core.json import Json
from techniques.core.reply import Reply, replied
from techniques.core.request import Opaque, Refusal, Request, ResponseFormat, Tool, ToolChoice
from techniques.parts.answers import expect
from techniques.parts.candidates import Candidate, Erasure, declined, failure, sift, tally, usable
from techniques.parts.checks import Checks
from techniques.parts.refusals import abstains, refuses
from tests.techniques.scene import asks, calls

SCHEMA: Json = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
TOOL = Tool("time", parameters=SCHEMA)


def of_schema(schema: Json = SCHEMA, *, strict: bool | None = None) -> Checks:
    return Checks(asks(response_format=ResponseFormat("json_schema", schema, strict=strict)))


@pytest.mark.parametrize(
    ("reply", "lost"),
    [
        (replied(""), "empty"),
        (replied(" \n"), "empty"),
        (Reply(), "empty"),
        (replied("half an", "length"), "truncated"),
        (replied("", "length"), "empty"),
        (replied("x", "content_filter"), "filtered"),
        (replied("an answer"), None),
        (Reply((Refusal("No."),)), None),
        (Reply((Opaque("anthropic", {}),)), None),
    ],
)
def test_a_reply_that_says_nothing_whole_is_an_erasure(reply: Reply, lost: str | None) -> None:
    assert Checks(asks()).lost(reply) == lost


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        ('{"n": 1}', None),
        ('{"n": "1"}', "invalid"),
        ('{"n": 1, "m": 2}', "invalid"),
        ("```json\n{}\n```", "invalid"),
        ("NaN", "invalid"),
    ],
)
def test_json_is_held_to_its_schema(text: str, lost: str | None) -> None:
    assert of_schema().lost(replied(text)) == lost


def test_a_refusal_need_not_be_json() -> None:
    assert of_schema().lost(Reply((Refusal("No."),))) is None
    assert of_schema().lost(replied("No.", "refusal")) is None


def test_a_json_object_must_be_an_object() -> None:
    checks = Checks(asks(response_format=ResponseFormat("json_object")))
    assert checks.defects(replied("[1]")) == ("The answer is no JSON object.",)
    assert checks.defects(replied("{}")) == ()


@pytest.mark.parametrize(
    "schema", [{"$ref": "http://127.0.0.1:9/schema.json"}, {"type": "nonsense"}, "text", None]
)
def test_a_schema_that_cannot_be_used_is_not_checked_and_never_fetched(schema: Json) -> None:
    assert of_schema(schema).lost(replied("{}")) is None


def test_defects_say_where_and_are_few() -> None:
    many = {"type": "array", "items": {"type": "string"}}
    found = of_schema(many).defects(replied(json.dumps(list(range(50)))))
    assert len(found) == 5
    assert found[0] == 'In the answer at 0: 0 is not of type "string"'


@pytest.mark.parametrize(
    ("reply", "choice", "defect"),
    [
        (calls("time", '{"n": 1}'), None, None),
        (calls("clock", "{}"), None, "There is no tool 'clock'."),
        (calls("time", "{n"), None, "The arguments of 'time' are no JSON."),
        (calls("time", "[1]"), None, "The arguments of 'time' are no JSON object."),
        (calls("time", ""), None, "In the arguments of 'time': \"n\" is a required property"),
        (calls("time", '{"n": 1}'), ToolChoice("none"), "No tool may be called."),
        (replied("no"), ToolChoice("required"), "A tool must be called."),
        (calls("time", '{"n": 1}'), ToolChoice("named", "date"), "The tool to call is 'date'."),
        (
            replace(calls("time", '{"n": 1}'), parts=calls("time", '{"n": 1}').parts * 2),
            ToolChoice(parallel=False),
            "Only one tool may be called at a time.",
        ),
    ],
)
def test_tool_calls_are_held_to_what_was_offered(
    reply: Reply, choice: ToolChoice | None, defect: str | None
) -> None:
    checks = Checks(asks(tools=(TOOL,), tool_choice=choice))
    assert checks.defects(reply) == (() if defect is None else (defect,))


def test_tools_of_the_dialects_own_may_have_any_name() -> None:
    checks = Checks(asks(tools=(Opaque("anthropic", {"type": "web_search"}),)))
    assert checks.defects(calls("web_search", "{}")) == ()


def test_strict_is_what_the_format_or_a_tool_says() -> None:
    assert of_schema(strict=True).strict
    assert Checks(asks(tools=(replace(TOOL, strict=True),))).strict
    assert not of_schema().strict


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "Sorry, I cannot assist with this request.",
        "I won't do that.",
        "As an AI model, I cannot provide instructions for it.",
        "I am unable to comply.",
    ],
)
def test_refusals_are_known_by_their_first_words(text: str) -> None:
    assert refuses(replied(text))


@pytest.mark.parametrize(
    "text",
    [
        "I can't rate this.",
        "Sorry, there seems to be an error in the question.",
        "You cannot help it: 42.",
        "I don't know.",
        "I can't help but think of the sea. " + "It is wide. " * 60,
    ],
)
def test_other_words_are_no_refusal(text: str) -> None:
    assert not refuses(replied(text))


def test_a_refusal_part_or_reason_is_a_refusal() -> None:
    assert refuses(Reply((Refusal("No."),)))
    assert refuses(replied("x", "refusal"))
    assert abstains("It depends.")
    assert not abstains("It depends. " * 10)


def drawn(*outcomes: Outcome, request: Request | None = None) -> list[Candidate | Erasure]:
    asked = request or asks()
    checks, expected = Checks(asked), expect(asked)
    return [sift(place, one, checks, expected) for place, one in enumerate(outcomes)]


REFUSED = replied("I can't help with that.")
FILTERED = replied("", "content_filter")


def test_from_a_third_on_refusals_speak_for_all() -> None:
    assert declined(drawn(replied("1"), replied("2"), REFUSED)) == REFUSED
    assert declined(drawn(replied("1"), replied("2"), replied("3"), REFUSED)) is None
    assert declined(drawn(replied("1"), FILTERED)) == FILTERED
    assert declined(drawn(FILTERED, REFUSED)) == REFUSED
    assert declined([]) is None


def test_cut_off_replies_are_used_only_where_there_is_nothing_better() -> None:
    cut = replied("half", "length")
    assert [one.reply for one in usable(drawn(cut, replied("1")), strict=False)] == [replied("1")]
    assert [one.reply for one in usable(drawn(cut), strict=True)] == [cut]


def test_invalid_replies_are_used_only_where_the_caller_does_not_insist() -> None:
    request = asks(response_format=ResponseFormat("json_schema", SCHEMA))
    draws = drawn(replied("{}"), request=request)
    assert len(usable(draws, strict=False)) == 1
    assert usable(draws, strict=True) == []


def test_the_failure_that_tells_most_is_told() -> None:
    down, late = UpstreamFailed("down"), DeadlinePassed("late")
    rejected = RequestRejected("No such thing.")
    assert failure(drawn(late, rejected, down)) is down
    assert failure(drawn(late, rejected)) is rejected
    assert failure(drawn(late)) is late
    told = failure(drawn(late, replied("")))
    assert isinstance(told, TechniqueFailed)
    assert told.message == "None of the 2 answers was usable (1 deadline, 1 empty)."


def test_the_tally_counts_by_class() -> None:
    down = UpstreamFailed("down")
    assert tally(drawn(down, replied(""), replied("42"))) == {
        "draws": 3,
        "used": 1,
        "failed": 2,
        "lost": {"empty": 1, "failed": 1},
    }
