from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from techniques.core.capabilities import Capabilities
from techniques.core.channel import Channels, Member
from techniques.core.request import Image, Message, Request, Text
from techniques.core.task import Task, Uncalibrated
from techniques.phases.attempt import Attempt, begin
from techniques.phases.pool import accuracies, strongest
from tests.techniques.scene import asks, scripted, sensible

CHANNEL = scripted(sensible)
PICTURE = Request("m", (Message("user", (Text("What is this?"), Image(url="u"))),))


@dataclass(frozen=True)
class Measured(Uncalibrated):
    """Accuracies of numbers by the model's name."""

    of: Mapping[str, float]

    def accuracy(self, model: str, kind: str) -> float | None:
        return self.of.get(model) if kind == "number" else None


def attempt(request: Request, seeing: str = "abc", **measured: float) -> Attempt:
    members = tuple(
        Member(name, name, CHANNEL, Capabilities(vision=name in seeing), name) for name in "abc"
    )
    task = Task(request, None, calibration=Measured(measured))
    return begin(task, Channels(members[0], members), "test")


def chosen(found: Attempt) -> str | None:
    member = strongest(found)
    return None if member is None else member.id


def test_the_most_accurate_model_is_the_strongest() -> None:
    found = attempt(asks(), a=0.5, b=0.9, c=0.7)
    assert chosen(found) == "b"
    assert accuracies(found, found.channels.pool) == {"a": 0.5, "b": 0.9, "c": 0.7}


def test_where_one_was_not_measured_the_first_is_the_strongest() -> None:
    found = attempt(asks(), b=0.9, c=0.7)
    assert chosen(found) == "a"
    assert accuracies(found, found.channels.pool) == {}


def test_what_was_measured_of_another_kind_of_answer_does_not_count() -> None:
    assert chosen(attempt(asks("Tell me of the sea."), a=0.5, b=0.9, c=0.7)) == "a"


def test_only_a_model_that_sees_writes_of_pictures() -> None:
    assert chosen(attempt(PICTURE, seeing="bc")) == "b"
    assert chosen(attempt(PICTURE, seeing="")) is None
    assert chosen(attempt(asks(), seeing="")) == "a"
