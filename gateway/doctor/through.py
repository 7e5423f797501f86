"""Whether what stands between clients and the gateway lets streams through as they come."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from itertools import pairwise
from typing import Final

from gateway.doctor.case import Case
from gateway.doctor.client import Page, Unreached, fetch
from gateway.doctor.finding import Finding
from gateway.surfaces.ticks import EVERY_S, TICKS

_LATEST: Final = 0.6
"""What part of the time that the stream takes its first piece may come late."""


async def through(case: Case) -> AsyncGenerator[Finding, None]:
    """Tell whether comments of a stream come through one by one."""
    if case.through is None:
        what = "not looked at: give the address that clients use with --through"
        yield Finding("proxy", "skipped", what)
        return
    token = case.known.admin_token
    if token is None:
        fix = "export LOCKGATE_ADMIN_TOKEN=…, as the gateway has it"
        yield Finding(
            "proxy", "skipped", "without the admin token no stream can be asked for", "", fix
        )
        return
    try:
        page = await fetch(case.through, "/admin/ticks", token, case.within_s)
    except Unreached as unreached:
        yield Finding("proxy", "error", str(unreached), "clients do not reach the gateway", "")
        return
    yield _judged(case.through, page)


def _judged(url: str, page: Page) -> Finding:
    if page.status != 200 or b": tick" not in page.body:
        what = f"{url} answers {page.status} to /admin/ticks"
        fix = "let /admin through for as long as this takes, or correct the admin token"
        return Finding("proxy", "warning", what, "streams could not be timed", fix)
    arrivals = [at for at, piece in page.pieces for _ in range(piece.count(b": tick"))]
    whole_s = (TICKS - 1) * EVERY_S
    spread_s = arrivals[-1] - arrivals[0]
    if spread_s < _LATEST * whole_s:
        what = f"{url} holds streams back: {TICKS} comments came within {spread_s:.2f} s"
        why = f"they were sent over {whole_s:.1f} s; clients that wait see nothing, and give up"
        fix = "nginx: proxy_buffering off; others: no buffering or compression of text/event-stream"
        return Finding("proxy", "error", what, why, fix)
    longest_s = max(later - at for at, later in pairwise(arrivals))
    what = f"{url} lets streams through: comments {EVERY_S} s apart came {longest_s:.2f} s apart"
    return Finding("proxy", "ok", what)
