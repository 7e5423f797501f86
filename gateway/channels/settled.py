"""Keeps back what a technique may yet replace, where the client wants nothing but the answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from techniques.core.channel import Channels, Technique
from techniques.core.events import Event, Provisional
from techniques.core.task import Task


def settled(technique: Technique) -> Technique:
    """Return *technique* without its ``Provisional`` answers."""

    async def run(task: Task[Any], channels: Channels) -> AsyncGenerator[Event, None]:
        async with aclosing(technique(task, channels)) as events:
            async for event in events:
                if not isinstance(event, Provisional):
                    yield event

    return run
