"""Tells of what a technique notes at work, as far as it is counted."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

from gateway.metering.facts import Agreed
from techniques.core.channel import Channels, Technique
from techniques.core.events import Event, Note
from techniques.core.task import Task


def noted(technique: Technique, name: str, record: Callable[[Agreed], None]) -> Technique:
    """Return *technique*; how far its draws agree is recorded under *name*."""

    async def run(task: Task[Any], channels: Channels) -> AsyncGenerator[Event, None]:
        async with aclosing(technique(task, channels)) as events:
            async for event in events:
                if isinstance(event, Note) and event.topic == "votes":
                    share = event.data.get("share")
                    if isinstance(share, float):
                        record(Agreed(name, share))
                yield event

    return run
