"""What a router has chosen for a request, as its plan carries it out and its run keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, field, fields
from typing import Any, Final

import orjson

from pricing.record import record
from router_service.arms import Arm, arm_of
from techniques.core.json import Json


@record(frozen=True, slots=True)
class Routed:
    """A choice; ``router`` is whose, "" where there was none and the first arm was taken.

    ``propensity`` is how likely just this choice was, ``lambda_`` how many points the cost of one
    more plain call had to buy. ``params`` are options of the technique that came with it.
    """

    arm: str
    why: str
    router: str = ""
    propensity: float = 1.0
    explored: bool = False
    lambda_: float = 1.0
    params: Mapping[str, Json] = field(default_factory=dict)

    @property
    def chosen(self) -> Arm:
        """The arm itself."""
        return arm_of(self.arm)


def written(routed: Routed) -> str:
    """Return *routed* as JSON."""
    return orjson.dumps(asdict(routed)).decode()


def read(text: str) -> Routed:
    """Return what ``written`` wrote, in this release or another.

    Raises:
        ValueError: It wrote something else.
    """
    found: Any = orjson.loads(text)
    try:
        known = Routed(**{name: found[name] for name in _NAMES if name in found})
        known.chosen  # noqa: B018 - it is looked at
    except (TypeError, AttributeError) as error:
        raise ValueError(f"no choice of a router: {error}") from error
    return known


_NAMES: Final = tuple(one.name for one in fields(Routed))
