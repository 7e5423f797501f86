"""RE2: the question is put twice."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace

from pydantic import BaseModel

from techniques.core.channel import Channels
from techniques.core.events import Event
from techniques.core.registry import Traits, technique
from techniques.core.request import Request
from techniques.core.task import Task
from techniques.parts.cue import cued
from techniques.phases.single import single

_AGAIN = "\n\nRead the question again: {question}"


class Options(BaseModel, frozen=True, extra="forbid"):
    """There are none."""


@technique(
    options=Options,
    traits=Traits(
        family="single call",
        source="Xu et al. 2023, arXiv:2309.06275",
        worst="1 (one more for each model that fails)",
        typical="1",
        avoid="The question is long: it is paid for twice, and a model that reasons gains nothing.",
    ),
)
def re2(task: Task[Options], channels: Channels) -> AsyncGenerator[Event, None]:
    """Ask once, with the question repeated at the end, and pass the answer on as it comes."""
    return single(replace(task, request=_twice(task.request.decoded())), channels)


def _twice(request: Request) -> Request:
    """Return *request* with its question at the end once more, where a question is what it ends in.

    What a tool gave back, or the beginning of an answer, is no question.
    """
    last = request.messages[-1] if request.messages else None
    if last is None or last.role != "user" or not last.text.strip():
        return request
    return cued(request, _AGAIN.format(question=last.text.strip()))
