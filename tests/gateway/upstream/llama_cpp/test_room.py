"""A-78 and A-79: the room on a machine of one's own."""

from __future__ import annotations

from itertools import permutations

import pytest

from gateway.upstream.llama_cpp.room import Room, Source, context, least, memory, time
from gateway.upstream.llama_cpp.told import ServerFailed, Slot
from gateway.upstream.llama_cpp.vram import CardFailed, free_bytes


def source(tokens: int | None = None, seconds: float | None = None) -> Source:
    async def room() -> Room:
        return Room(tokens, seconds)

    return room


@pytest.mark.parametrize(
    ("used", "processing", "left"), [(1000, True, 848), (1900, True, 0), (1000, False, 1848)]
)
async def test_context_is_what_is_there_less_what_is_used_and_a_margin_and_never_below_nothing(
    used: int, *, processing: bool, left: int
) -> None:
    async def slot() -> Slot:
        return Slot(0, processing=processing, cached=used)

    assert await context(slot, of=2048, margin=200)() == Room(tokens=left)


@pytest.mark.parametrize("free", [1_000_999, 1_000_000])
async def test_memory_is_counted_in_whole_tokens(free: int) -> None:
    assert await memory(lambda: free, 1000)() == Room(tokens=1000)


@pytest.mark.parametrize("size", [0, -1])
def test_memory_needs_the_bytes_of_a_token(size: float) -> None:
    with pytest.raises(ValueError, match="bytes_per_token"):
        memory(lambda: 1, size)


def test_a_card_without_its_library_says_so() -> None:
    with pytest.raises(CardFailed, match=r"libnowhere\.so cannot be used"):
        free_bytes(0, "libnowhere.so")


async def test_the_least_of_each_is_left_in_any_order() -> None:
    sources = [source(tokens=50), source(tokens=20, seconds=9), source(seconds=4), source()]

    rooms = {await least(order) for order in permutations(sources)}

    assert rooms == {Room(20, 4)}


async def test_one_source_that_fails_fails_all() -> None:
    async def broken() -> Room:
        raise ServerFailed("unreachable", "gone")

    with pytest.raises(ServerFailed):
        await least([source(tokens=50), broken])


async def test_no_source_at_all_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing to measure"):
        await least([])


async def test_seconds_may_be_less_than_nothing_and_then_nothing_is_begun() -> None:
    room = await least([source(tokens=50), time(10, lambda: 8, 5)])

    assert room == Room(50, -3)
    assert room.full


@pytest.mark.parametrize(
    ("room", "full"),
    [(Room(), False), (Room(1, 0.5), False), (Room(0, 9), True), (Room(9, 0), True)],
)
def test_a_room_is_full_when_one_of_both_is_used_up(room: Room, *, full: bool) -> None:
    assert room.full is full
