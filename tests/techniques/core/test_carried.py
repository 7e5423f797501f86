"""What a call's id carries comes back as it was, and nothing else is taken for it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from techniques.core.carried import LARGEST, MARK, carrying, parted
from techniques.core.json import NOTHING, Json

SIGNED: Json = {"extra_content": {"google": {"thought_signature": "Eo8B+/=="}}}
IDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | st.just(MARK)
VALUES = st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), st.text('aé+/ \\"'))


@given(IDS, VALUES)
def test_what_is_carried_comes_back_beside_the_id(own: str, value: Json) -> None:
    carried = carrying(own, {"extra_content": value, "index": 3})

    if MARK in own:
        assert carried == own
    else:
        assert parted(carried) == (own, {"extra_content": value})


@given(st.from_regex(re.compile(r"[A-Za-z0-9_-]{1,40}"), fullmatch=True))
def test_an_id_that_every_api_takes_stays_one(own: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_-]+", carrying(own, SIGNED))


@given(IDS, st.text("abcXYZ019_-", max_size=60))
def test_what_a_provider_itself_wrote_is_left_alone(own: str, more: str) -> None:
    assert parted(f"{own}{MARK}{more}") == (f"{own}{MARK}{more}", NOTHING)


@pytest.mark.parametrize("change", [lambda one: one[:-1], lambda one: "x" + one, str.lower])
def test_an_id_that_was_changed_is_no_carrier(change: object) -> None:
    assert callable(change)
    changed = change(carrying("call_1", SIGNED))

    assert parted(changed) == (changed, NOTHING)


@pytest.mark.parametrize(
    "extra",
    [
        {},
        {"index": 1},
        {"extra_content": None},
        {"extra_content": {"google": {"thought_signature": "A" * LARGEST}}},
    ],
)
def test_nothing_and_too_much_are_not_carried(extra: Json) -> None:
    assert carrying("call_1", extra) == "call_1"
