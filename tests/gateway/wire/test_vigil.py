"""What watches beside an answer, from when to when."""

from __future__ import annotations

import asyncio

import anyio
import anyio.lowlevel
import pytest

from gateway.wire.vigil import Vigil

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])


class Watched:
    """Counts who watches."""

    def __init__(self) -> None:
        self.begun = self.ended = self.stopped = 0

    async def watch(self) -> None:
        self.begun += 1
        try:
            await anyio.sleep_forever()
        finally:
            self.ended += 1

    def stop(self) -> None:
        self.stopped += 1

    @property
    def figures(self) -> tuple[int, int, int]:
        return self.begun, self.ended, self.stopped


async def turns() -> None:
    for _ in range(3):
        await anyio.lowlevel.checkpoint()


async def test_it_begins_once_however_it_is_begun_and_ends() -> None:
    watched = Watched()
    vigil = Vigil(watched.watch, watched.stop)
    vigil.begin_after(0.0, asyncio.get_running_loop())
    vigil.begin()
    await turns()

    assert watched.figures == (1, 0, 0)

    vigil.end()
    await turns()

    assert watched.figures == (1, 1, 1)


async def test_one_that_was_over_before_a_silence_never_watched() -> None:
    watched = Watched()
    vigil = Vigil(watched.watch, watched.stop)
    vigil.begin_after(0.0, asyncio.get_running_loop())
    vigil.end()
    await turns()

    assert watched.figures == (0, 0, 1)


async def test_what_is_held_after_its_end_begins_nothing() -> None:
    watched = Watched()
    vigil = Vigil(watched.watch, watched.stop)
    vigil.end()
    vigil.begin()
    await turns()

    assert watched.figures == (0, 0, 1)
