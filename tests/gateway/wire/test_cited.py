"""Sources that a model names, as clients of each dialect are told of them."""

from __future__ import annotations

from typing import Any, Final

import orjson
import pytest

from gateway.surfaces.spoken import DIALECTS
from gateway.wire.dialect import Call, Summary
from gateway.wire.unsaid import unsaid
from pricing.usage import Usage
from techniques.core.citation import Citation
from techniques.core.events import Cited, Event, Finished, Started, TextDelta, Warned
from techniques.core.json import Json
from techniques.core.reply import Fold
from techniques.core.request import Opaque, Relay, Request

A: Final = Citation("https://a.test", "A", 5, 8)
B: Final = Citation("https://b.test", "", 8, 12, "the words")
EVENTS: Final[list[Event]] = [
    Started(),
    TextDelta("Well, it"),
    Cited(A),
    TextDelta(" is."),
    Cited(B),
    TextDelta(" So."),
    Finished(),
]
SUMMARY: Final = Summary(Usage(), 1, None, "unknown", request_id="req_1")


def whole(dialect: str, events: list[Event]) -> Any:
    fold = Fold()
    for event in events:
        fold.feed(event)
    return orjson.loads(DIALECTS[dialect].whole(_call(dialect), fold.reply(), SUMMARY))


def streamed(dialect: str, events: list[Event]) -> list[Any]:
    encoder = DIALECTS[dialect].encoder(_call(dialect), "req_1", "m")
    raw = b"".join(map(encoder.feed, events)) + encoder.end(SUMMARY)
    lines = (line.removeprefix(b"data: ") for line in raw.split(b"\n"))
    return [orjson.loads(line) for line in lines if line.startswith(b"{")]


def _call(dialect: str) -> Call:
    return Call(dialect, "m", True, Relay(dialect, None, {"model": "m"}, lambda: Request("m")))  # noqa: FBT003


def url_citation(start: int, end: int, url: str, title: str) -> Json:
    return {"start_index": start, "end_index": end, "url": url, "title": title}


def test_chat_clients_find_them_beside_the_text() -> None:
    expected = [
        {"type": "url_citation", "url_citation": url_citation(5, 8, "https://a.test", "A")},
        {"type": "url_citation", "url_citation": url_citation(8, 12, "https://b.test", "")},
    ]
    chunks = streamed("openai_chat", EVENTS)
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]

    assert whole("openai_chat", EVENTS)["choices"][0]["message"]["annotations"] == expected
    assert [one for delta in deltas for one in delta.get("annotations", ())] == expected


def test_responses_clients_find_them_at_the_text_that_they_are_of() -> None:
    events = [EVENTS[0], TextDelta("Hm. "), EVENTS[1], Cited(A.moved(4)), EVENTS[-1]]
    (item,) = whole("openai_responses", events)["output"]
    frames = streamed("openai_responses", events)
    added = [one for one in frames if one["type"] == "response.output_text.annotation.added"]

    told = {"type": "url_citation", **url_citation(9, 12, "https://a.test", "A")}
    assert item["content"][0]["annotations"] == [told]
    assert [one["annotation"] for one in added] == [told]
    assert added[0]["annotation_index"] == added[0]["content_index"] == 0
    assert frames[-1]["response"]["output"][0]["content"] == item["content"]


def test_anthropics_clients_get_a_block_for_the_text_that_a_source_is_of() -> None:
    content = whole("anthropic", EVENTS)["content"]

    assert [block["text"] for block in content] == ["Well,", " it", " is.", " So."]
    assert [len(block.get("citations", ())) for block in content] == [0, 1, 1, 0]
    assert content[2]["citations"] == [
        {
            "type": "web_search_result_location",
            "url": "https://b.test",
            "title": None,
            "cited_text": "the words",
            "encrypted_index": "",
        }
    ]


def test_a_block_that_is_streamed_ends_with_the_text_that_its_source_is_of() -> None:
    frames = streamed("anthropic", EVENTS)
    deltas = [
        (frame["index"], frame["delta"]["type"])
        for frame in frames
        if frame["type"] == "content_block_delta"
    ]

    assert deltas == [
        (0, "text_delta"),
        (0, "citations_delta"),
        (1, "text_delta"),
        (1, "citations_delta"),
        (2, "text_delta"),
    ]
    stops = [frame["index"] for frame in frames if frame["type"] == "content_block_stop"]
    assert stops == [0, 1, 2]


@pytest.mark.parametrize("dialect", ["anthropic", "openai_chat", "openai_responses"])
def test_a_client_of_the_makers_own_api_gets_them_as_they_came(dialect: str) -> None:
    own = {"type": "made_up", "file_id": "file_1", "more": [1]}
    cited = Cited(Citation("", "", 0, 8, own=Opaque(dialect, own)))
    events = [*EVENTS[:2], cited, *EVENTS[-1:]]

    assert unsaid(cited, dialect) is None
    assert own in _anywhere(whole(dialect, events))
    assert own in _anywhere(streamed(dialect, events))


@pytest.mark.parametrize(
    ("dialect", "citation", "lost"),
    [
        ("openai_chat", A, None),
        ("openai_responses", B, Warned("answer_part_dropped", "cited_text")),
        ("anthropic", B, None),
        ("ollama", A, Warned("citations_dropped")),
        (
            "openai_chat",
            Citation("", own=Opaque("anthropic", {"type": "char_location"})),
            Warned("citations_dropped", "char_location"),
        ),
        ("ollama_generate", A, Warned("citations_dropped")),
    ],
)
def test_what_there_is_no_place_for_is_lost_by_name(
    dialect: str, citation: Citation, lost: Warned | None
) -> None:
    assert unsaid(Cited(citation), dialect) == lost


@pytest.mark.parametrize("dialect", ["anthropic", "openai_chat", "openai_responses", "ollama"])
def test_a_source_of_what_was_never_said_harms_nothing(dialect: str) -> None:
    beyond = Cited(Citation("https://a.test", "A", 90, 99))

    nothing: list[Event] = [beyond, Finished()]

    assert streamed(dialect, nothing)
    assert whole(dialect, nothing)
    assert "Well, it" in _anywhere(whole(dialect, [*EVENTS[:2], *nothing]))
    assert "Well, it" in _anywhere(streamed(dialect, [*EVENTS[:2], *nothing]))


def _anywhere(value: Json) -> list[Json]:
    """Return all values in *value*, at whatever depth."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value, *(found for one in inner for found in _anywhere(one))]
