"""Carries the checks out, all at once: each has its time, and none can keep the others waiting."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, Final

import anyio
import structlog
from structlog.typing import EventDict

from gateway.doctor import configured, machine
from gateway.doctor.case import Case, Check
from gateway.doctor.database import database
from gateway.doctor.finding import Finding, without
from gateway.doctor.keys import keys
from gateway.doctor.router import router
from gateway.doctor.served import served
from gateway.doctor.store import store
from gateway.doctor.through import through
from gateway.doctor.upstreams import upstream
from techniques.core.groups import task_group

_NAME: Final = "lockgate-doctor"
_SPARE_S: Final = 2.0
"""What all may take beside the time of each."""


def checks_of(case: Case) -> list[tuple[str, Check]]:
    """Return what is looked at, with its name, in the order in which it is told."""
    return [
        ("configuration", configured.configuration),
        ("secrets", configured.secrets),
        ("keys", keys),
        ("prices", configured.prices),
        *((f"provider {name}", upstream(name)) for name in case.config.providers),
        ("store", store),
        ("database", database),
        *([] if "database" in case.unread else [("journal", configured.journal)]),
        ("capture", configured.capture),
        ("calibration", configured.calibration),
        ("router", router),
        ("gateway", served),
        ("proxy", through),
        ("machine", machine.files),
        ("machine", machine.kernel),
        ("machine", machine.processors),
        ("machine", machine.sandbox),
    ]


def examine(case: Case, checks: Sequence[tuple[str, Check]] | None = None) -> list[Finding]:
    """Return what was found, in order; it comes to an end whatever is looked at does not.

    What has not ended by then may go on in a thread of its own: see ``is_over``.
    """
    wanted = checks_of(case) if checks is None else checks
    found: list[list[Finding]] = [[_late(name, case)] for name, _ in wanted]
    beside(partial(anyio.run, _examine, case, wanted, found), case.within_s + _SPARE_S)
    return without(case.secrets, [finding for findings in found for finding in findings])


def beside(work: Callable[[], None], within_s: float) -> None:
    """Do *work*, and wait for it no longer than *within_s*."""
    thread = threading.Thread(target=work, name=_NAME, daemon=True)
    thread.start()
    thread.join(within_s)


def is_over() -> bool:
    """Tell whether all that was begun has ended; if not, the process has to be ended harder."""
    return not any(thread.name == _NAME for thread in threading.enumerate())


async def _examine(
    case: Case, checks: Iterable[tuple[str, Check]], found: list[list[Finding]]
) -> None:
    async with task_group() as group:
        for place, (name, check) in enumerate(checks):
            group.start_soon(_one, case, name, check, found, place)


async def _one(  # noqa: PLR0917 - a task takes its arguments by place
    case: Case, name: str, check: Check, found: list[list[Finding]], place: int
) -> None:
    seen: list[Finding] = []
    try:
        with anyio.fail_after(case.within_s):
            async with aclosing(check(case)) as findings:
                async for finding in findings:
                    seen.append(finding)
        found[place] = seen
    except TimeoutError:
        found[place] = [*seen, _late(name, case)]
    except Exception as error:  # noqa: BLE001 - one of the boundaries: the others go on
        _log = _logger(case)
        _log.exception("doctor.failed", check=name)
        what = f"it could not be looked at: {type(error).__name__}: {error}"
        found[place] = [*seen, Finding(name, "error", what)]


def _logger(case: Case) -> Any:
    """Return what writes to stderr, with the secrets of *case* taken out."""

    def masked(_logger: object, _method: str, told: EventDict) -> EventDict:
        text = Finding("", "error", str(told.get("exception", "")))
        (safe,) = without(case.secrets, [text])
        return {**told, "exception": safe.what}

    return structlog.wrap_logger(
        structlog.PrintLogger(sys.stderr),
        processors=[structlog.processors.format_exc_info, masked, structlog.dev.ConsoleRenderer()],
    )


def _late(name: str, case: Case) -> Finding:
    what = f"no answer within {case.within_s:g} s"
    return Finding(
        name, "error", what, "what hangs here hangs the gateway, too", "--timeout SECONDS"
    )
