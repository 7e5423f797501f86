"""``GET /v1/windows``: how the windows stand that calls are held for."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.requests import Request
from starlette.responses import Response

from gateway.admission.names import is_money
from gateway.pacing import errors
from gateway.pacing.pacer import Pacer
from gateway.policy.models import Catalogue
from gateway.stores.ledger import PoolState, StoreLost, WindowState
from gateway.surfaces.completion import Front
from gateway.surfaces.incoming import headers_of
from gateway.surfaces.named import name_headers, new_name
from gateway.surfaces.operations import is_bearer, json_answer
from gateway.surfaces.own_windows import owned
from gateway.surfaces.spoken import dialect_of, failed
from gateway.upstream.account import is_probe
from pricing.cost import dollars
from techniques.core.errors import GatewayError
from techniques.core.json import JsonObject


class WindowsEndpoint:
    """Tells a key its own windows, and the bearer of the admin token those of all.

    A gateway without keys tells all.
    """

    def __init__(self, catalogue: Catalogue, front: Front, admin_token: str | None) -> None:
        self._front = front
        self._token = admin_token
        accounts = (it.account for model in catalogue.all() for it in (model, *model.others))
        self._pools = {account.pool: account.name for account in accounts}

    async def serve(self, request: Request) -> Response:
        """Serve the windows that who asks may see."""
        headers = headers_of(request.scope)
        dialect = dialect_of(headers)
        try:
            answer = json_answer({"pools": await self._seen(request)})
        except GatewayError as error:
            answer = failed(error, dialect)
        answer.headers.update(name_headers(new_name(), dialect.name))
        return answer

    async def _seen(self, request: Request) -> list[JsonObject]:
        pacer = self._front.pipeline.pacer
        caller = None
        if self._token is None or not is_bearer(request, self._token):
            caller = await self._front.door.caller(headers_of(request.scope))
        if pacer is None:
            return []
        try:
            if caller is None or caller.name is None:
                return await self._all(pacer)
            state = await pacer.store.peek(caller.pool)
            return [_pool(caller.pool, state, owned(caller, state))]
        except StoreLost as lost:
            raise errors.store_lost() from lost

    async def _all(self, pacer: Pacer) -> list[JsonObject]:
        pools = []
        for pool, account in sorted(self._pools.items()):
            state = await pacer.store.peek(pool)
            pools.append({**_pool(pool, state, state.windows), "account": account})
        for pool in sorted(pacer.callers_pools()):
            state = await pacer.store.peek(pool)
            pools.append(_pool(pool, state, state.windows))
        return pools


def _pool(pool: str, state: PoolState, windows: Iterable[WindowState]) -> JsonObject:
    return {
        "pool": pool,
        "queued": state.queued,
        "leases": state.leases,
        "orphans": state.orphans,
        "windows": [
            _money(it) if is_money(it.name) else _rate(it)
            for it in windows
            if not is_probe(it.name)
        ],
    }


def _rate(window: WindowState) -> JsonObject:
    owner, dimension, period = window.name.rsplit(":", 2)
    return {
        "window": window.name,
        "of": owner,
        "dimension": dimension,
        "period_s": int(period),
        "kind": window.kind,
        "cap": window.cap,
        "level": round(window.level, 3),
        "held": window.held,
        "margin": round(window.margin, 3),
        "refill_per_s": round(window.rate, 6),
        "drain_per_s": round(window.drain, 6),
        "blocked_ms": window.blocked_ms,
        "ends_in_ms": window.ends_in_ms,
        "provisional": window.provisional,
    }


def _money(window: WindowState) -> JsonObject:
    owner, dimension, period = window.name.rsplit(":", 2)
    return {
        "window": window.name,
        "of": owner,
        "dimension": dimension,
        "period": period,
        "kind": window.kind,
        "cap_usd": _dollars(window.cap),
        "left_usd": _dollars(int(window.level)),
        "held_usd": _dollars(window.held),
    }


def _dollars(amount: int) -> str:
    """Return *amount* as dollars; of a budget more may be held or spent than there is."""
    return dollars(amount) if amount >= 0 else f"-{dollars(-amount)}"
