"""The router that chooses for ``auto``: is it there, has it learnt, and of vectors like ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import aclosing
from functools import partial
from typing import Final

import anyio.to_thread
import orjson

from gateway.config.router import RouterConfig
from gateway.doctor.case import Case
from gateway.doctor.client import Unreached, fetch
from gateway.doctor.finding import Finding
from gateway.embedding import EmbeddingCalls
from router_service.embedding.encoders import encoder_of
from router_service.embedding.settings import EmbeddingSettings
from router_service.embedding.unusable import Unusable
from router_service.groundwork.database import DatabaseLost, DatabaseUnusable, as_it_is
from router_service.store.fits import FitTable
from router_service.store.observations import ObservationTable
from techniques.core.json import Json

_OK: Final = 200
_VERSION: Final = "1"
_MEANWHILE: Final = "requests of auto get the default technique meanwhile"
_TEACH: Final = "lockgate calibrate QUESTIONS.jsonl --router --models NAME"

Rows = Mapping[str, int]
"""How many observations there are, by the encoder of their vectors."""


class _Told(Exception):
    """Nothing more can be found out; ``finding`` says why."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.what)
        self.finding = finding


async def router(case: Case) -> AsyncGenerator[Finding, None]:
    """Tell of the router, in this process or far away."""
    stated = case.config.router
    if stated.url is None and stated.type == "fixed":
        yield Finding("router", "ok", "none: auto is the technique of reliability.default")
        return
    try:
        name = await _encoder(stated.embedding)
        look = _here if stated.url is None else _far
        async with aclosing(look(case, name)) as findings:
            async for finding in findings:
                yield finding
    except _Told as told:
        yield told.finding


async def _encoder(settings: EmbeddingSettings) -> str:
    """Return the name of the encoder; it is not asked for a vector."""
    calls = EmbeddingCalls(settings) if settings.kind == "upstream" else None
    try:
        made = await anyio.to_thread.run_sync(partial(encoder_of, settings, calls))
    except Unusable as error:
        why = "without vectors it goes by what can be counted of a request"
        fix = "router.embedding: {kind: static}"
        raise _Told(Finding("router", "error", str(error), why, fix)) from error
    finally:
        if calls is not None:
            await calls.close()
    return made.name


async def _here(case: Case, encoder: str) -> AsyncGenerator[Finding, None]:
    """Tell what the router in the gateway's own process has to go by."""
    stated = case.config.router
    yield Finding("router", "ok", f"{stated.type}, in the gateway's process, with {encoder}")
    if stated.type == "acm_table":
        return
    if not case.config.database.kept:
        why = "what is learnt ends with the process"
        yield Finding("router", "note", "there is no database", why, "database.url")
        return
    rows, fit = await _read(case.config.database.url, stated)
    for finding in _learnt(rows, encoder, stated):
        yield finding
    told = "none" if fit is None else f"revision {fit}"
    yield Finding("router", "ok", f"fit that is served: {told}")


async def _read(url: str, stated: RouterConfig) -> tuple[Rows, int | None]:
    """Return what there is of observations, and the revision of the fit that is served."""
    try:
        async with as_it_is(url) as database:
            profiles = await ObservationTable(database, stated.store.keys).profiles()
            served = await FitTable(database, stated.type).served()
    except (DatabaseUnusable, DatabaseLost) as error:
        what = f"what was learnt cannot be read: {error}"
        why = "a database that no gateway has been started with yet has nothing of it"
        raise _Told(Finding("router", "note", what, why)) from error
    rows: Counter[str] = Counter()
    for one in profiles:
        rows[one.encoder] += sum(arm.rows for arm in one.arms.values())
    return rows, None if served is None else served.revision


async def _far(case: Case, encoder: str) -> AsyncGenerator[Finding, None]:
    """Tell how the router far away is."""
    ready = await _asked(case, "/readyz")
    state = str(ready.get("status"))
    if state != "ready":
        why = "it goes by what it had learnt before, or by priors"
        yield Finding("router", "warning", f"it says of itself: {state}", why, "see its log")
    version = str((await _asked(case, "/meta")).get("version"))
    if version != _VERSION:
        what = f"it speaks version {version}, and the gateway {_VERSION}"
        why = "its decisions may not be understood"
        yield Finding("router", "warning", what, why, "run both of one release")
    else:
        yield Finding("router", "ok", f"{case.config.router.url} is there, of version {version}")
    rows: Counter[str] = Counter()
    for one in (await _asked(case, "/v1/profiles"))["profiles"]:
        rows[one["encoder"]] += sum(arm["rows"] for arm in one["arms"].values())
    for finding in _learnt(rows, encoder, case.config.router):
        yield finding


async def _asked(case: Case, path: str) -> Mapping[str, Json]:
    """Return what the router answers at *path*."""
    stated = case.config.router
    assert stated.url is not None
    token = None if stated.token is None else stated.token.get_secret_value()
    fix = "start it, or correct router.url and router.token"
    try:
        page = await fetch(stated.url, path, token, case.within_s / 4)
        told = orjson.loads(page.body)
    except (Unreached, orjson.JSONDecodeError) as error:
        raise _Told(Finding("router", "error", str(error), _MEANWHILE, fix)) from error
    known = page.status == _OK or (path == "/readyz" and "status" in told)
    if not known or not isinstance(told, dict):
        what = f"{stated.url}{path} answers {page.status}"
        raise _Told(Finding("router", "error", what, _MEANWHILE, fix))
    return told


def _learnt(rows: Rows, encoder: str, stated: RouterConfig) -> Iterable[Finding]:
    """Yield what was observed, and whether its vectors can be compared with ours."""
    total, ours = sum(rows.values()), rows.get(encoder, 0)
    if not total:
        why = "it goes by priors, which keep the plain call"
        yield Finding("router", "note", "nothing was observed yet", why, _TEACH)
        return
    yield Finding("router", "ok", f"{total} observations, {ours} of them with {encoder}")
    yield from _others(rows, encoder, stated)


def _others(rows: Rows, encoder: str, stated: RouterConfig) -> Iterator[Finding]:
    strangers = sorted(name for name in rows if name and name != encoder)
    if strangers and encoder not in rows:
        what = f"all that was learnt has vectors of {', '.join(strangers)}, and ours are {encoder}"
        why = "vectors of different encoders cannot be compared: it goes by means of all"
        fix = f"router.embedding as it was, not {{kind: {stated.embedding.kind}}}"
        yield Finding("router", "warning", what, why, fix)
