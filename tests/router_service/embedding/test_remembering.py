from __future__ import annotations

import math
from collections.abc import Sequence

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from router_service.embedding.remembering import Remembering, bounded
from router_service.embedding.threads import Aside
from techniques.core.groups import task_group


class Counting:
    """An encoder's inside that notes what it was asked for."""

    def __init__(self, values: Sequence[float] | None = (3.0, 4.0)) -> None:
        self.values = values
        self.asked: list[str] = []

    async def __call__(self, text: str) -> Sequence[float] | None:
        self.asked.append(text)
        return self.values


def encoder(inside: Counting, characters: int = 100, remembered: int = 10) -> Remembering:
    return Remembering("counting:2", inside, characters, remembered)


async def test_a_vector_is_of_unit_length_and_names_its_encoder() -> None:
    vector = await encoder(Counting()).encode("a")
    assert vector is not None
    assert vector.encoder == "counting:2"
    assert vector.values == pytest.approx((0.6, 0.8))


@pytest.mark.parametrize("text", ["", " ", "\n\t\u3000"])
async def test_nothing_has_no_vector_and_nobody_is_asked_for_it(text: str) -> None:
    inside = Counting()
    assert await encoder(inside).encode(text) is None
    assert not inside.asked


@pytest.mark.parametrize(
    "values", [None, (), (0.0, 0.0), (math.nan, 1.0), (math.inf, 1.0), (1.0,) * 4097]
)
async def test_numbers_without_a_direction_are_no_vector(values: Sequence[float] | None) -> None:
    assert await encoder(Counting(values)).encode("a") is None


async def test_the_same_text_is_embedded_once() -> None:
    inside = Counting()
    one = encoder(inside)
    assert await one.encode("a") == await one.encode("a ") == await one.encode("\na")
    assert inside.asked == ["a"]


async def test_what_was_used_last_is_remembered() -> None:
    inside = Counting()
    one = encoder(inside, remembered=2)
    for text in "abacab":
        await one.encode(text)
    assert inside.asked == ["a", "b", "c", "b"]


async def test_without_a_memory_each_text_is_embedded_anew() -> None:
    inside = Counting()
    one = encoder(inside, remembered=0)
    for _ in range(2):
        await one.encode("a")
    assert inside.asked == ["a", "a"]


async def test_what_has_no_vector_now_is_tried_again() -> None:
    inside = Counting(None)
    one = encoder(inside)
    assert await one.encode("a") is None
    inside.values = (1.0,)
    assert await one.encode("a") is not None


async def test_a_lone_surrogate_is_no_reason_to_fail() -> None:
    assert await encoder(Counting()).encode("a\ud800") is not None


@given(st.text(max_size=300), st.integers(4, 100))
def test_a_text_is_never_longer_than_its_bound(text: str, most: int) -> None:
    short = bounded(text, most)
    assert len(short) == min(len(text), most)
    assert text.startswith(short[: most // 2])
    assert text.endswith(short[len(short) - most // 4 :])


async def test_work_aside_is_done_one_at_a_time_and_a_long_queue_is_not_joined() -> None:
    running: list[int] = []
    most: list[int] = []

    def work(_: str) -> Sequence[float]:
        running.append(1)
        most.append(len(running))
        running.pop()
        return (1.0,)

    aside = Aside(work)
    given_up: list[str] = []
    embedded: list[str] = []

    async def ask(text: str) -> None:
        (given_up if await aside(text) is None else embedded).append(text)

    async with task_group() as group:
        for number in range(60):
            group.start_soon(ask, str(number))
        await anyio.lowlevel.checkpoint()
    assert max(most) == 1
    assert len(embedded) >= 33
    assert len(given_up) + len(embedded) == 60
    assert given_up
