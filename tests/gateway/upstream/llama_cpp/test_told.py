"""A-78: what the server tells is read strictly."""

from __future__ import annotations

import pytest

from gateway.upstream.llama_cpp.told import (
    Moved,
    Props,
    ServerFailed,
    Slot,
    moved_of,
    props_of,
    slots_of,
)
from techniques.core.json import Json

BUSY: dict[str, Json] = {"id": 0, "is_processing": True}


def test_slots_context_model_and_build_are_read_from_props() -> None:
    told: Json = {
        "default_generation_settings": {"n_ctx": 2048},
        "n_ctx": 8192,
        "total_slots": 4,
        "model_path": "/m.gguf",
        "build_info": "b1",
    }

    assert props_of(told) == Props(4, 2048, "/m.gguf", "b1")


def test_a_context_at_the_top_is_the_second_choice() -> None:
    assert props_of({"total_slots": 1, "n_ctx": 512}).context == 512


@pytest.mark.parametrize(
    "told",
    [{}, [], {"total_slots": 2}, {"n_ctx": 512}, {"total_slots": 0, "n_ctx": 9}, {"n_ctx": "9"}],
)
def test_props_without_slots_or_context_are_an_error(told: Json) -> None:
    with pytest.raises(ServerFailed) as caught:
        props_of(told)

    assert caught.value.reason == "unreadable"


FIELDS: dict[str, tuple[Json, int]] = {
    "n_prompt_tokens": (7, 7),
    "cache_tokens": ([1, 2, 3, 4, 5, 6], 6),
    "n_past": (5, 5),
    "prompt": ([1, 2, 3, 4], 4),
    "tokens": ([1, 2, 3], 3),
    "next_token": ([{"n_decoded": 1}, {"n_decoded": 2}], 2),
}


@pytest.mark.parametrize("first", range(len(FIELDS)))
def test_the_first_field_that_is_there_tells_what_a_slot_holds(first: int) -> None:
    names = list(FIELDS)[first:]
    row = {**BUSY, **{name: FIELDS[name][0] for name in reversed(names)}}

    assert slots_of([row]) == (Slot(0, processing=True, cached=FIELDS[names[0]][1]),)


def test_a_text_is_no_number_of_tokens() -> None:
    (slot,) = slots_of([{**BUSY, "prompt": "hello there", "next_token": {"n_decoded": 3}}])

    assert slot.cached == 3


def test_an_idle_slot_takes_nothing_though_it_still_holds_something() -> None:
    (slot,) = slots_of([{"id": 1, "is_processing": False, "n_prompt_tokens": 40}])

    assert (slot.used, slot.cached) == (0, 40)


@pytest.mark.parametrize("row", [{"id": 3, "is_processing": False}, {"id": 3, "state": 0}])
def test_a_slot_that_never_computed_holds_nothing(row: dict[str, Json]) -> None:
    assert slots_of([row]) == (Slot(3, processing=False, cached=0),)


@pytest.mark.parametrize(
    "row",
    [BUSY, {"id": 0}, {**BUSY, "n_tokens": 9}, {**BUSY, "n_past": -1}, {**BUSY, "n_past": "9"}],
)
def test_a_slot_that_computes_and_has_no_field_we_know_is_an_error_and_no_guess(
    row: dict[str, Json],
) -> None:
    with pytest.raises(ServerFailed) as caught:
        slots_of([row])

    assert caught.value.reason == "unreadable"


@pytest.mark.parametrize("wrapped", ["slots", "data"])
def test_a_list_of_slots_may_be_wrapped(wrapped: str) -> None:
    assert slots_of({wrapped: [{**BUSY, "n_past": 2}]}) == (Slot(0, processing=True, cached=2),)


@pytest.mark.parametrize("told", [{}, {"slots": 4}, 4, None, ["slot"]])
def test_what_is_no_list_of_slots_is_an_error(told: Json) -> None:
    with pytest.raises(ServerFailed):
        slots_of(told)


def test_what_was_moved_is_read() -> None:
    saved = {"n_saved": 238, "n_written": 5488100, "timings": {"save_ms": 3.5}}

    assert moved_of(saved, saved=True) == Moved(238, 5488100, 0.0035)
    assert moved_of({"n_restored": 4}, saved=False) == Moved(4, 0, 0.0)


def test_a_slot_that_was_moved_without_a_count_is_an_error() -> None:
    with pytest.raises(ServerFailed):
        moved_of({"n_restored": 4}, saved=True)
