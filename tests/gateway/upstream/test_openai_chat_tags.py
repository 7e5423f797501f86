from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.upstream.provider import Target
from gateway.upstream.providers.openai_chat.tags import Tags, TagSplitter, tags_of
from gateway.upstream.thinking import ALL_TAGS, Thinks
from techniques.core.events import TextDelta
from techniques.core.reply import Reply
from techniques.core.request import Relay, Request, Text, Thinking, ThinkingWish, said
from tests.gateway.upstream.openai_chat_bytes import (
    DONE,
    OPENAI,
    ROLE,
    TARGET,
    chunk,
    completion,
    drain,
    folded,
)

ALL = Tags(ALL_TAGS)
OPENED = Tags(("think",), opened=True)
FIRST = Tags(ALL_TAGS, anywhere=False)

OWN = Thinks("chat_template", off="false", unasked=True, tags=("think",))
BEGUN = replace(OWN, opened=True)
ALWAYS = Thinks("none", unasked=True, tags=("think",), opened=True)
STRANGER = Thinks(tags=ALL_TAGS, known=False)


def split(parts: Iterable[str], tags: Tags, *, cut: bool = False) -> tuple[str, str]:
    """Return what of the text in *parts* is thinking, and what is not."""
    splitter = TagSplitter(tags)
    pieces = [piece for part in parts for piece in splitter.feed(part)]
    pieces.extend(splitter.close(cut=cut))
    spoken = "".join(piece.text for piece in pieces if isinstance(piece, TextDelta))
    return "".join(p.text for p in pieces if not isinstance(p, TextDelta)), spoken


@pytest.mark.parametrize(
    ("text", "thought", "spoken"),
    [
        ("<think>why</think>yes", "why", "yes"),
        ("<thinking>why</thinking>yes", "why", "yes"),
        ("<thought>why</thought>yes", "why", "yes"),
        ("<reasoning>why</reasoning>yes", "why", "yes"),
        ("<think>a <thought> b</think>c", "a <thought> b", "c"),
        ("<think>a</thought>b</think>c", "a</thought>b", "c"),
        ("<think>a</think>b<think>c</think>d", "ac", "bd"),
        ("\n <think>why</think>\n\nyes", "why", "\n\nyes"),
        ("so <think>why</think>yes", "why", "so yes"),
        ("<think>cut off", "cut off", ""),
        ("<think>cut off </thi", "cut off </thi", ""),
        ("<think></think>yes", "", "yes"),
        ("1 < 2 <thinker> </ think>", "", "1 < 2 <thinker> </ think>"),
        (" \n", "", " \n"),
        ("", "", ""),
    ],
)
def test_what_stands_between_tags_is_thinking(text: str, thought: str, spoken: str) -> None:
    assert split([text], ALL) == (thought, spoken)
    assert split(text, ALL) == (thought, spoken)


@pytest.mark.parametrize(
    ("text", "thought", "spoken"),
    [
        ("why</think>yes", "why", "yes"),
        ("<think>why</think>yes", "why", "yes"),
        ("\n<think>why</think>yes", "why", "yes"),
        ("why</think>yes<think>more</think>!", "whymore", "yes!"),
        ("</think>yes", "", "yes"),
    ],
)
def test_where_the_prompt_opened_the_tag_the_text_begins_inside(
    text: str, thought: str, spoken: str
) -> None:
    assert split([text], OPENED) == (thought, spoken)
    assert split(text, OPENED) == (thought, spoken)


def test_an_answer_without_any_tag_is_not_lost_where_one_was_expected() -> None:
    assert split(["It is ", "42."], OPENED) == ("It is 42.", "It is 42.")
    assert split(["It is ", "42."], OPENED, cut=True) == ("It is 42.", "")


@pytest.mark.parametrize(
    ("text", "thought", "spoken"),
    [
        ("<reasoning>why</reasoning>yes", "why", "yes"),
        (" <think>why</think>yes <think>b</think>", "why", "yes <think>b</think>"),
        ("Write <think>b</think>.", "", "Write <think>b</think>."),
    ],
)
def test_of_an_unknown_model_tags_count_at_the_beginning_alone(
    text: str, thought: str, spoken: str
) -> None:
    assert split([text], FIRST) == (thought, spoken)
    assert split(text, FIRST) == (thought, spoken)


PIECES = st.lists(
    st.sampled_from(
        [*ALL.opening, *ALL.closing, "<think", "</", "<", ">", "think>", "a", " ", "\n", "é"]
    ),
    max_size=12,
)


@given(
    text=PIECES.map("".join),
    cuts=st.lists(st.integers(0, 80), max_size=8),
    tags=st.sampled_from([ALL, OPENED, FIRST, Tags(("think",))]),
    cut=st.booleans(),
)
def test_where_a_text_is_cut_changes_nothing(
    text: str, cuts: list[int], tags: Tags, *, cut: bool
) -> None:
    places = [0, *sorted(place % (len(text) + 1) for place in cuts), len(text)]
    parts = [text[start:end] for start, end in pairwise(places)]

    assert split(parts, tags, cut=cut) == split([text], tags, cut=cut)
    assert split(text, tags, cut=cut) == split([text], tags, cut=cut)


@given(before=st.text("ab<>/ \n", max_size=9), inside=st.text("ab<>/ \n", max_size=9))
def test_nothing_but_tags_and_white_space_before_them_gets_lost(before: str, inside: str) -> None:
    thought, spoken = split([f"{before}<think>{inside}</think>end"], ALL)

    assert thought == inside
    assert spoken.lstrip() == f"{before}end".lstrip()


def at(thinks: Thinks, **more: Any) -> Target:
    return replace(TARGET, thinks=thinks, **more)


def whole(message: dict[str, Any], target: Target, finish: str = "stop", **more: Any) -> Reply:
    """Return the reply that an answer in one body makes."""
    reader = OPENAI.reader(Request("fast", **more), target, streamed=False)
    body = completion({"role": "assistant", **message}, finish)
    body["choices"][0]["logprobs"] = message.get("logprobs")
    return folded(drain(reader, orjson.dumps(body)))


def streamed(deltas: Iterable[dict[str, Any]], target: Target, finish: str = "stop") -> Reply:
    data = ROLE + b"".join(map(chunk, deltas)) + chunk(finish=finish) + DONE
    reader = OPENAI.reader(Request("fast", stream=True), target, streamed=True)
    return folded(drain(reader, data))


def told(reply: Reply) -> tuple[str, str]:
    return reply.thinking, reply.text


@pytest.mark.parametrize("thinks", [OWN, BEGUN, ALWAYS, STRANGER])
@pytest.mark.parametrize(
    ("text", "thought", "spoken"),
    [
        ("<think>why</think>yes", "why", "yes"),
        ("why</think>yes", "why", "yes"),
        ("yes", "", "yes"),
    ],
)
def test_a_whole_answer_shows_itself_whether_its_first_tag_is_missing(
    thinks: Thinks, text: str, thought: str, spoken: str
) -> None:
    assert told(whole({"content": text}, at(thinks))) == (thought, spoken)


def test_an_answer_that_was_cut_before_its_first_tag_closed_is_thinking() -> None:
    assert told(whole({"content": "hm"}, at(ALWAYS), "length")) == ("hm", "")
    assert told(whole({"content": "hm"}, at(OWN), "length")) == ("", "hm")
    assert told(streamed([{"content": "hm"}], at(ALWAYS), "length")) == ("hm", "")


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content", "thinking"])
def test_reasoning_that_comes_apart_says_that_no_tag_is_missing(field: str) -> None:
    message = {field: "why", "content": "yes"}

    assert told(whole(message, at(ALWAYS), "length")) == ("why", "yes")
    assert told(streamed([{field: "why"}, {"content": "yes"}], at(ALWAYS))) == ("why", "yes")


def test_a_stream_begins_inside_its_tags_where_the_prompt_opened_them() -> None:
    deltas = [{"content": text} for text in ("wh", "y</th", "ink>yes")]

    assert told(streamed(deltas, at(ALWAYS))) == ("why", "yes")
    assert told(streamed(deltas, at(BEGUN))) == ("why", "yes")
    assert told(streamed(deltas, at(BEGUN, thinking=ThinkingWish("off")))) == (
        "",
        "why</think>yes",
    )


def test_token_probabilities_of_thinking_are_not_those_of_the_answer() -> None:
    tokens = ["<think>", "why", "</think>", "y", "es"]
    logprobs = {"content": [{"token": token, "logprob": -1.0} for token in tokens]}
    reply = whole({"content": "".join(tokens), "logprobs": logprobs}, at(OWN))

    assert reply.parts == (Thinking("why"), Text("yes"))
    assert [token["token"] for token in reply.logprobs["content"]] == ["y", "es"]


def test_a_known_model_without_tags_keeps_its_words() -> None:
    assert told(whole({"content": "<think>a</think>b"}, at(Thinks("none")))) == (
        "",
        "<think>a</think>b",
    )


@pytest.mark.parametrize("role", ["system", "user"])
def test_tags_that_a_client_asks_an_unknown_model_for_are_left_to_it(role: Any) -> None:
    asked = (said(role, "Put your steps between <reasoning> and </reasoning>."),)
    kept = whole({"content": "<reasoning>a</reasoning>b"}, at(STRANGER), messages=asked)
    other = whole({"content": "<think>a</think>b"}, at(STRANGER), messages=asked)
    own = whole({"content": "<think>a</think>b"}, at(OWN), messages=asked)

    assert kept.text == "<reasoning>a</reasoning>b"
    assert told(other) == told(own) == ("a", "b")


def test_a_relayed_answer_is_split_only_if_the_operator_says_so() -> None:
    body = {"model": "fast", "messages": []}
    relay = Relay("openai_chat", b"{}", body, lambda: Request("fast"))
    request = Request("fast", relay=relay)
    data = orjson.dumps(completion({"role": "assistant", "content": "<think>a</think>b"}))
    kept = OPENAI.reader(request, at(OWN), streamed=False)
    divided = OPENAI.reader(request, at(OWN, split_thinking=True), streamed=False)

    assert b"".join(event.raw for event in drain(kept, data) if hasattr(event, "raw")) == data
    assert told(folded(drain(divided, data))) == ("a", "b")


def test_nothing_is_read_of_a_request_whose_model_writes_no_tags() -> None:
    def decode() -> Request:
        raise AssertionError("It was read.")

    request = Request("fast", relay=Relay("anthropic", b"{}", {}, decode))

    assert tags_of(request, at(Thinks("none"))) is None
    assert tags_of(request, at(OWN)) == Tags(("think",))
