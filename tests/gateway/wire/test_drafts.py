"""What was shown of drafts is taken out of what comes back."""

from __future__ import annotations

import re
from time import process_time

from hypothesis import given
from hypothesis import strategies as st

from gateway.wire.drafts import draft, without_drafts

_OPENING, _CLOSING = draft("|").split("|")
_PIECES = st.lists(st.sampled_from([_OPENING, _CLOSING, draft("b"), "a", "\n"]), max_size=8)


@given(_PIECES)
def test_drafts_are_taken_out_and_nothing_else(pieces: list[str]) -> None:
    pattern = re.escape(_OPENING) + ".*?" + re.escape(_CLOSING)
    text = "".join(pieces)

    assert without_drafts(text) == re.sub(pattern, "", text, flags=re.DOTALL)


def test_what_only_begins_like_one_takes_no_longer_than_other_text() -> None:
    began = process_time()
    text = _OPENING * 50_000
    assert without_drafts(text) == text
    assert process_time() - began < 1  # it took minutes
