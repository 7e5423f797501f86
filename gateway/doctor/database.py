"""The database: is it there, of the present shape, and is there room for it."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Final

import anyio.to_thread

from gateway.clock import utc_now
from gateway.doctor.case import Case
from gateway.doctor.finding import Finding, Level
from gateway.stores.database.engine import DatabaseUnusable
from gateway.stores.database.look import Look, file_of, look
from gateway.stores.database.migrate import HEAD

_SKEW_S: Final = 2.0
_LITTLE: Final = 1 * 2**30
_NONE_LEFT: Final = 100 * 2**20
_SPARE: Final = 3
"""Connections that PostgreSQL keeps for its own people."""


async def database(case: Case) -> AsyncGenerator[Finding, None]:
    """Tell how the database is."""
    config = case.config.database
    if "database" in case.unread:
        yield Finding("database", "skipped", "its address cannot be read")
        return
    if not config.kept:
        why = "keys are those of the configuration, and the ledger ends with the process"
        yield Finding(
            "database", "note", "there is none", why, "database.url: sqlite:///lockgate.db"
        )
        return
    file = file_of(config.url)
    if file is not None:
        for finding in await anyio.to_thread.run_sync(lambda: list(_room(Path(file)))):
            yield finding
    try:
        found = await look(config.url)
    except DatabaseUnusable as error:
        why = "the gateway does not start without it"
        yield Finding("database", "error", str(error), why, "start it, or correct database.url")
        return
    if found is None:
        yield Finding("database", "ok", f"{file} is made at the first start")
        return
    yield _shape(found)
    for finding in _server(found, config.pool * case.config.server.workers):
        yield finding


def _shape(found: Look) -> Finding:
    if found.is_current:
        return Finding("database", "ok", f"{found.server}, revision {found.revision}")
    if found.revision is None:
        return Finding("database", "ok", f"{found.server}, empty: its tables are made at the start")
    what = f"{found.server}, revision {found.revision}; this release has {HEAD}"
    if found.revision < HEAD:
        why = "it is brought up to date at the next start; the release before cannot use it then"
        fix = "make a copy of it before that"
        return Finding("database", "note", what, why, fix)
    why = "a newer release has changed it, and this one does not start with it"
    return Finding("database", "error", what, why, "run the newer release, or restore the copy")


def _server(found: Look, wanted: int) -> Iterator[Finding]:
    if found.now is not None:
        skew = found.now - utc_now().timestamp()
        if abs(skew) > _SKEW_S:
            why = "times in it are the gateway's, but leases of runs go by both clocks"
            fix = "timedatectl set-ntp true, on both machines"
            yield Finding("database", "warning", f"its clock is off by {skew:+.1f} s", why, fix)
        else:
            yield Finding("database", "ok", f"its clock is off by {skew:+.2f} s")
    if found.connections is not None and wanted > found.connections - _SPARE:
        what = f"workers may want {wanted} connections, and it has {found.connections} for all"
        why = "what finds none waits, and keys and rows with it"
        yield Finding(
            "database", "warning", what, why, "database.pool: fewer, or max_connections: more"
        )


def _room(file: Path) -> Iterator[Finding]:
    """Yield whether *file* can be written, and how much room there is beside it."""
    folder = file.absolute().parent
    if not folder.is_dir():
        fix = f"mkdir -p {folder}"
        yield Finding("database", "error", f"there is no folder {folder}", "", fix)
        return
    target = file if file.exists() else folder
    if not os.access(target, os.W_OK):
        fix = f"chown the folder and the file to who runs the gateway: chown -R USER {folder}"
        yield Finding("database", "error", f"{target} cannot be written", "", fix)
    free = shutil.disk_usage(folder).free
    what = f"{free / 2**30:.1f} GiB are free on the disk of {folder}"
    why = "without room no row of the ledger and no step of a run can be written"
    if free < _LITTLE:
        level: Level = "error" if free < _NONE_LEFT else "warning"
        yield Finding("database", level, what, why, "make room, or move database.url")
    else:
        yield Finding("database", "ok", what)
