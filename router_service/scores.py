"""What a router thinks of each arm for one request, before anything is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from router_service.contract import Match


@dataclass(frozen=True, slots=True)
class Score:
    """What is expected of one arm, beside the plain call of the same request.

    ``utility``, in points, is what is chosen by, and ``optimistic`` what it may well come to.
    ``gain`` is the expected quality above the plain call's, ``spread`` the standard deviation of
    that, ``cost`` in plain calls, ``rows`` how many observations it rests on.
    """

    utility: float
    optimistic: float
    gain: float = 0.0
    spread: float = 0.0
    cost: float = 1.0
    rows: float = 0.0


@dataclass(frozen=True, slots=True)
class Scores:
    """The score of every arm on offer that is not masked, by name; see ``RouteDecision``."""

    arms: Mapping[str, Score]
    why: str
    match: Match = "default"
    similarity: float | None = None
    profile: str = ""
    plain_quality: float | None = None
    masked: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
