"""Tells of models whose plain answers are not what they were, as long as that lasts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import anyio
import structlog

from router_service.learning.drift import Drift

_LOOK_S: Final = 60.0
_DIGITS: Final = 3

_log = structlog.get_logger()


async def watching(drifts: Callable[[], Sequence[Drift]]) -> None:
    """Log each shift once for as long as it lasts."""
    told: set[tuple[str, str]] = set()
    while True:
        found = {(one.model, one.source): one for one in drifts()}
        for name in sorted(found.keys() - told):
            one = found[name]
            _log.warning(
                "router.drift",
                model=one.model,
                source=one.source,
                before=round(one.before, _DIGITS),
                now=round(one.now, _DIGITS),
                sigmas=round(one.sigmas, 1),
            )
        told = set(found)
        await anyio.sleep(_LOOK_S)
