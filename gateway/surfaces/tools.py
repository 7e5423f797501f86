"""``POST /v1/tools/{name}/acquire``: an agent asks before it uses a tool."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import orjson
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.attention.tools import ToolQuotas
from gateway.surfaces.asked import LONGEST_MS, asked_at, attended, form_of
from gateway.surfaces.completion import Front
from gateway.surfaces.incoming import headers_of
from gateway.surfaces.operations import json_answer
from gateway.surfaces.spoken import CHAT
from router_service.groundwork.section import Section
from techniques.core.errors import KeyLimited
from techniques.core.json import JsonObject


class Acquire(Section):
    """How long the answer may wait, and the id of the model's call that it is for."""

    wait_ms: int = Field(0, ge=0, le=LONGEST_MS)
    call_id: str = Field("", max_length=256)


class ToolsEndpoint:
    """Grants uses of tools; *count* is told of each and how it was answered."""

    def __init__(
        self, front: Front, quotas: ToolQuotas | None, count: Callable[[str, str], None]
    ) -> None:
        self._front = front
        self._quotas = quotas
        self._count = count

    def routes(self) -> list[Route]:
        """Return its paths."""
        acquire = asked_at(self._front.gate, self.acquire)
        return [Route("/v1/tools/{name}/acquire", acquire, methods=["POST"])]

    async def acquire(self, request: Request) -> Response:
        """Grant one use, or say with 429 in how many milliseconds there is one."""
        caller = await self._front.door.caller(headers_of(request.scope))
        asked = await form_of(request, Acquire)
        tool: str = request.path_params["name"]
        quotas = self._quotas
        if quotas is None or quotas.quota(caller, tool) is None:
            return json_answer({"tool": tool, "granted": True, "limited": False, "wait_ms": 0})
        take = partial(
            quotas.acquire, caller, tool, patience_s=asked.wait_ms / 1000, call_id=asked.call_id
        )
        taken = await attended(request.receive, take)
        assert taken is not None, "it has a quota"
        told = {"tool": tool, "granted": taken.granted, "limited": True, "wait_ms": taken.wait_ms}
        if taken.granted:
            quotas.spend(caller, tool, taken)
            self._count(tool, "granted")
            return json_answer({**told, "left": taken.left})
        self._count(tool, "refused")
        return _to_wait(tool, told, taken.wait_ms)


def _to_wait(tool: str, told: JsonObject, wait_ms: int) -> Response:
    error = KeyLimited(
        f"The quota of the tool {tool} is used up.",
        code="tool_quota_exhausted",
        retry_after=wait_ms / 1000,
    )
    failure = CHAT.failure(error)
    body = {**told, **orjson.loads(failure.body)}
    return Response(orjson.dumps(body), failure.status, dict(failure.headers), "application/json")
