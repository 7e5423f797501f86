"""What a router thinks of each arm for one request, before anything is chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Protocol

from pricing.record import record
from router_service.contract import Match, Observation, RouteQuery
from techniques.core.json import Json


@record(frozen=True, slots=True)
class Score:
    """What is expected of one arm, beside the plain call of the same request.

    ``utility``, in points, is what is chosen by, and ``optimistic`` what it may well come to.
    ``gain`` is the expected quality above the plain call's, ``spread`` the standard deviation of
    that, ``cost`` in plain calls, ``rows`` how many observations it rests on. ``expected`` is the
    utility without the caution that is in ``utility``; None: there is none in it.
    """

    utility: float
    optimistic: float
    gain: float = 0.0
    spread: float = 0.0
    cost: float = 1.0
    rows: float = 0.0
    expected: float | None = None


@record(frozen=True, slots=True)
class Scores:
    """The score of every arm on offer that is not masked, by name; see ``RouteDecision``.

    ``params`` are options that an arm is to be given beside its own.
    """

    arms: Mapping[str, Score]
    why: str
    match: Match = "default"
    similarity: float | None = None
    profile: str = ""
    plain_quality: float | None = None
    masked: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    estimate: bool = False
    params: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)


class Scorer(Protocol):
    """One router as it is set up, with what it has learnt. It is never changed."""

    def __call__(self, query: RouteQuery) -> Scores:
        """Score the arms on offer.

        Raises:
            NoExactProfile: The query is strict, and nothing was learnt of its models.
        """
        ...

    def learnt(self, rows: Sequence[Observation], *, afresh: bool = False) -> Scorer:
        """Return this with *rows* learnt too, or with nothing but them.

        It takes its time and touches nothing: call it in another thread.
        """
        ...
