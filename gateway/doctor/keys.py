"""Keys of callers that have expired, or soon will: those of the file and of the database."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from gateway.clock import utc_now
from gateway.doctor.case import Case
from gateway.doctor.finding import Finding
from gateway.policy.expiry import goes_soon, how_soon
from gateway.stores.database.engine import DatabaseUnusable, keys_that_go
from gateway.stores.database.rows import time_of


async def keys(case: Case) -> AsyncGenerator[Finding, None]:
    """Tell which keys go, if any expire."""
    now = utc_now()
    stated = [(key.name, key.expires) for key in case.config.keys if key.expires is not None]
    found = [(f"keys.{name}", at, f"keys.{name}.expires: later, or none") for name, at in stated]
    if "database" not in case.unread and case.config.database.kept:
        try:
            made = await keys_that_go(case.config.database.url)
        except DatabaseUnusable:  # told elsewhere
            made = []
        found += [(n, time_of(at), f"lockgate key set {n} expires=DATE, or none") for n, at in made]
    for name, at, fix in found:
        if goes_soon(at, now):
            why = "whoever uses it is refused with 401 from then on"
            yield Finding("keys", "warning", f"{name} {how_soon(at, now)}", why, fix)
    if found and not any(goes_soon(at, now) for _, at, _ in found):
        yield Finding(
            "keys", "ok", f"the first of them {how_soon(min(a for _, a, _ in found), now)}"
        )
