from __future__ import annotations

import orjson

from gateway.runs.events import packed, unpacked
from pricing.usage import Usage
from techniques.core.events import Event, Finished, TextDelta, UsageReported


def test_how_a_step_was_served_is_kept_with_its_usage() -> None:
    events: list[Event] = [TextDelta("a"), UsageReported(Usage(3, 2, images=1), "flex"), Finished()]

    assert unpacked(packed(events)) == events


def test_what_was_kept_before_modes_and_pictures_were_told_is_read() -> None:
    kept = orjson.dumps([["UsageReported", {"input_tokens": 3, "output_tokens": 2}]]).decode()

    assert unpacked(kept) == [UsageReported(Usage(3, 2))]
