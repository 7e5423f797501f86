from __future__ import annotations

import pytest

from gateway.routing.observing import Observer
from gateway.routing.pace import Pace
from gateway.routing.reasks import Reasks
from router_service.contract import Feedback, Observation
from router_service.groundwork.database import DatabaseLost
from tests.router_service.rows import row, vector

EAST, NEAR, NORTH = vector(1.0, 0.0), vector(1.0, 0.3), vector(0.0, 1.0)


def asked(
    name: str, at: float, where: object = EAST, arm: str = "none", **fields: object
) -> Observation:
    """Return what came of a request that took a second and ended at *at*."""
    stated = {"at": at, "vector": where, "caller": "app", "latency_ms": 1000.0}
    return row(name, arm, None, **{**stated, **fields})


def heard(*rows: Observation) -> list[Feedback]:
    said: list[Feedback] = []
    reasks = Reasks(said.append)
    for one in rows:
        reasks(None, one)
    return said


def test_who_asks_much_the_same_again_soon_was_not_content() -> None:
    (said,) = heard(asked("a", 10.0), asked("b", 200.0, NEAR))

    assert (said.request_id, said.quality, said.plain_quality) == ("a", 0.0, 0.0)
    assert (said.source, said.reliability) == ("reask", 0.3)


def test_of_an_arm_nothing_is_said_of_the_plain_answer() -> None:
    (said,) = heard(asked("a", 10.0, arm="best_of_n/3"), asked("b", 20.0))

    assert said.plain_quality is None


def test_who_asks_before_the_end_is_written_down_has_asked_after_it() -> None:
    (said,) = heard(asked("a", 10.0), asked("b", 10.9))

    assert said.request_id == "a"


def test_an_answer_is_spoken_of_once() -> None:
    said = heard(asked("a", 10.0), asked("b", 20.0), asked("c", 30.0))

    assert [one.request_id for one in said] == ["a", "b"]


@pytest.mark.parametrize(
    "second",
    [
        asked("b", 20.0, NORTH),
        asked("b", 312.0),
        asked("b", 10.5),
        asked("b", 20.0, caller="other"),
        asked("b", 20.0, vector(1.0, 0.0, encoder="another")),
        asked("b", 20.0, vector(1.0, 0.0, 0.0)),
        asked("b", 20.0, None),
        asked("b", 20.0, latency_ms=None),
    ],
    ids=["another", "later", "at once", "caller", "encoder", "size", "no vector", "resumed"],
)
def test_what_is_no_such_thing_says_nothing(second: Observation) -> None:
    assert heard(asked("a", 10.0), second) == []


def test_of_callers_without_a_name_nothing_is_known() -> None:
    assert heard(asked("a", 10.0, caller=""), asked("b", 20.0, caller="")) == []


class Kept:
    """Observations that are kept in memory; it is lost so many times."""

    def __init__(self, lost: int = 0) -> None:
        self.lost = lost
        self.said: list[str] = []

    async def observe(self, rows: object) -> None:
        del rows

    async def feedback(self, said: Feedback) -> bool:
        if self.lost:
            self.lost -= 1
            raise DatabaseLost("gone")
        self.said.append(said.request_id)
        return True

    async def forget(self, caller: str) -> int:
        del caller
        return 0


async def test_what_is_said_is_handed_over_with_what_was_observed() -> None:
    kept = Kept(lost=1)
    observer = Observer(kept, lambda _result, _number: None, Pace())
    for name in "ab":
        observer.say(Feedback(request_id=name, quality=0.0))

    await observer.flush()
    first = list(kept.said)
    await observer.flush()

    assert (first, kept.said) == ([], ["a", "b"])
