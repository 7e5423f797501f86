"""Quotas of tools: whose uses are counted together, and what a use is known by."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from secrets import token_hex
from typing import Final

from gateway.attention.quota import Meter, Quota, Taken
from gateway.attention.seen import offered
from gateway.config.attention import ToolAction, ToolConfig
from gateway.policy.keys import Caller
from techniques.core.json import Json

_COUNTED: Final = re.compile(r"[A-Za-z_.:-]*\d{0,4}")
"""Ids such as ``call_0``, by which a provider numbers the calls of each answer anew."""


@dataclass(frozen=True, slots=True)
class Waits:
    """How long a turn may be kept back, in seconds: a streamed one, and any other."""

    stream_s: float = 300.0
    json_s: float = 55.0

    def surface_s(self, *, streamed: bool) -> float:
        """Return how long it is, as far as its surface is concerned."""
        return self.stream_s if streamed else self.json_s


class ToolQuotas:
    """The quotas of all tools.

    *shared_by* processes count apart from each other, each its part. ``action`` is what becomes of
    a model's turn that calls a tool too often.
    """

    def __init__(
        self,
        meter: Meter,
        stated: Mapping[str, ToolConfig],
        action: ToolAction = "annotate",
        *,
        waits: Waits | None = None,
        shared_by: int = 1,
    ) -> None:
        self._meter = meter
        self._stated = stated
        self._shared_by = shared_by
        self.action: ToolAction = action
        self.waits = waits or Waits()

    def limit_some(self, body: Mapping[str, Json]) -> bool:
        """Return whether one of the tools that a request's *body* offers has a quota."""
        return any(name in self._stated for name in offered(body))

    def quota(self, caller: Caller, tool: str) -> Quota | None:
        """Return the quota that *caller* takes of when it uses *tool*, None: there is none."""
        stated = self._stated.get(tool)
        if stated is None:
            return None
        whose = "" if stated.per == "global" else f":key:{caller.name or ''}"
        return Quota(
            pool=f"tool:{tool}{whose}",
            name=f"tool:{tool}",
            unit="calls",
            most=max(1, stated.calls // self._shared_by),
            period_ms=round(1000 * stated.period),
            refill=stated.refill,
        )

    async def acquire(
        self, caller: Caller, tool: str, *, patience_s: float = 0.0, call_id: str = ""
    ) -> Taken | None:
        """Hold one use of *tool*, and wait *patience_s* for it at most; None: it has no quota.

        The same *call_id* is the same use, for two minutes. What is held is spent, or given back.

        Raises:
            StoreLost: The ledger does not answer.
        """
        quota = self.quota(caller, tool)
        if quota is None:
            return None
        lease = _lease(caller, tool, call_id)
        if patience_s <= 0:
            return await self._meter.take(quota, lease)
        return await self._meter.acquire(quota, lease, patience_s)

    def spend(self, caller: Caller, tool: str, taken: Taken) -> None:
        """Spend a use that is held."""
        quota = self.quota(caller, tool)
        if quota is not None:
            self._meter.spend(quota, taken)

    def give_back(self, caller: Caller, tool: str, taken: Taken) -> None:
        """Give back a use that is held, and came to nothing."""
        quota = self.quota(caller, tool)
        if quota is not None:
            self._meter.give_back(quota, taken)


def _lease(caller: Caller, tool: str, call_id: str) -> str:
    if _COUNTED.fullmatch(call_id):
        return token_hex(16)
    return sha256(f"{caller.name or ''}\0{tool}\0{call_id}".encode()).hexdigest()[:32]
