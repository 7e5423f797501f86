from __future__ import annotations

import orjson

from gateway.runs.events import packed, unpacked
from pricing.usage import Usage
from techniques.core.citation import Citation
from techniques.core.events import (
    Cited,
    Event,
    Finished,
    RefusalDelta,
    TextDelta,
    UsageReported,
)
from techniques.core.request import Opaque


def test_how_a_step_was_served_is_kept_with_its_usage() -> None:
    events: list[Event] = [TextDelta("a"), UsageReported(Usage(3, 2, images=1), "flex"), Finished()]

    assert unpacked(packed(events)) == events


def test_what_was_kept_before_modes_and_pictures_were_told_is_read() -> None:
    kept = orjson.dumps([["UsageReported", {"input_tokens": 3, "output_tokens": 2}]]).decode()

    assert unpacked(kept) == [UsageReported(Usage(3, 2))]


def test_sources_and_the_details_of_an_end_are_kept() -> None:
    events: list[Event] = [
        TextDelta("a"),
        Cited(Citation("https://a.test", "A", 0, 1, "b", Opaque("anthropic", {"type": "c"}))),
        Cited(Citation("https://b.test")),
        RefusalDelta("no", {"content": None, "refusal": []}),
        UsageReported(Usage(3, 2), searches=2),
        Finished("refusal", None, b"", {"type": "refusal"}),
    ]

    assert unpacked(packed(events)) == events


def test_an_end_that_was_kept_without_details_is_read() -> None:
    kept = orjson.dumps([["Finished", "stop", None, ""], ["RefusalDelta", "no"]]).decode()

    assert unpacked(kept) == [Finished(), RefusalDelta("no")]
