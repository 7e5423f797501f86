"""How much room there is on a machine of one's own: tokens that still fit, seconds that are left.

Each source tells of one thing; together they leave the least of each.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from gateway.upstream.llama_cpp.told import Slot


@dataclass(frozen=True, slots=True)
class Room:
    """Tokens that fit, and seconds that are left; None: nobody limits them."""

    tokens: int | None = None
    seconds: float | None = None

    @property
    def full(self) -> bool:
        """Whether nothing more can be begun."""
        return (self.tokens is not None and self.tokens <= 0) or (
            self.seconds is not None and self.seconds <= 0
        )


Source: TypeAlias = Callable[[], Awaitable[Room]]
"""Measures a room; raises what says why it cannot."""


async def least(sources: Sequence[Source]) -> Room:
    """Return the least that any of *sources* leaves; one that fails fails all.

    Raises:
        ValueError: There are none, and no room is not the same as any room.
    """
    if not sources:
        raise ValueError("There is nothing to measure the room by.")
    rooms = [await source() for source in sources]
    tokens = [room.tokens for room in rooms if room.tokens is not None]
    seconds = [room.seconds for room in rooms if room.seconds is not None]
    return Room(min(tokens, default=None), min(seconds, default=None))


def context(slot: Callable[[], Awaitable[Slot]], *, of: int, margin: int) -> Source:
    """Tell what is left of a slot's *of* tokens of context, less *margin*; never less than none."""

    async def room() -> Room:
        return Room(tokens=max(of - (await slot()).used - margin, 0))

    return room


def memory(free: Callable[[], int], bytes_per_token: float) -> Source:
    """Tell how many tokens fit into the *free* bytes of a graphics card.

    Raises:
        ValueError: A token takes no bytes.
    """
    if bytes_per_token <= 0:
        raise ValueError("bytes_per_token must be more than 0.")

    async def room() -> Room:
        return Room(tokens=int(max(free(), 0) / bytes_per_token))

    return room


def time(deadline: float, clock: Callable[[], float], reserve_s: float) -> Source:
    """Tell the seconds until *deadline* less what saving takes: below nothing where it is late."""

    async def room() -> Room:
        return Room(seconds=deadline - clock() - reserve_s)

    return room
