"""Reads what an answer tells of its account's limits: its headers, and a refusal's body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from gateway.admission.limits.bodies import Refused, refused
from gateway.admission.limits.extras import ietf, unified
from gateway.admission.limits.merging import merged
from gateway.admission.limits.page import Page
from gateway.admission.limits.rows import (
    DAY,
    EXTRA_NAMES,
    HOUR,
    MINUTE,
    MONTH,
    Extra,
    Vendor,
    Window,
)
from gateway.admission.limits.vendors import sniffed
from gateway.admission.reading import NOTHING_TOLD, Dimension, Reading, Told

_LIMITED = 429
_EXTRAS = {"unified": unified, "ietf": ietf}
_PERIODS = ((MINUTE, 465.0), (HOUR, 17_640.0), (DAY, 1.1 * DAY))
"""Lengths of windows, and the longest reset that is read as each."""


def read(
    vendor: Vendor, headers: Mapping[str, str], *, status: int, now: float, body: bytes = b""
) -> Told:
    """Return what an answer tells; never raises.

    Args:
        vendor: Whose answer it is.
        headers: Its headers, names in lower case.
        status: Its status. Only 429 is a refusal by a limit; 503 and 529 are not.
        now: When it was read, in seconds since 1970.
        body: Its body, where it has failed.
    """
    if status < 400 and vendor.names.isdisjoint(headers):
        return NOTHING_TOLD
    if vendor.sniffs:
        vendor = sniffed(headers)
    page = Page(headers, now)
    readings = _readings(vendor, headers, page, status)
    if status < 400:
        return Told(readings, unparsed=tuple(page.unparsed))
    wait = page.retry_after()
    said = refused(body, page)
    if wait is None:
        wait = said.delay_s
    elif _is_belied(said, wait):
        said = replace(said, readings=())
    if status != _LIMITED:
        return Told(readings, wait, unparsed=tuple(page.unparsed))
    if said.headers and not readings:
        readings = _readings(vendor, said.headers, Page(said.headers, now), status)
    told = Told(readings, wait, unparsed=tuple(page.unparsed))
    return _limited(vendor, merged((*readings, *said.readings)), said, told)


def _is_belied(said: Refused, wait_s: float) -> bool:
    """Return whether the words speak of a minute's window that *wait_s* of the head knows not of.

    Whoever writes both by the same limit names the same time in both. Words that were copied would
    hold each call of the account by a limit that it does not have.
    """
    far = said.delay_s is not None and said.delay_s > 2 * wait_s + 2
    return far and all(row.period_s == MINUTE for row in said.readings)


def _limited(vendor: Vendor, readings: tuple[Reading, ...], said: Refused, told: Told) -> Told:
    """Return *told* of a refusal by a limit, with what *readings* and its words make of it."""
    full = [row for row in readings if _is_used_up(row)]
    wait = told.retry_after_s
    if wait is None:
        wait = min((row.reset_s for row in full if row.reset_s is not None), default=None)
    if said.day_ends_s is not None:
        wait = max(wait or 0.0, said.day_ends_s)
    return Told(
        readings,
        wait,
        said.exhausted or _exhausted(full, vendor.refused),
        never=any(row.limit == 0 for row in readings),
        unparsed=told.unparsed,
    )


def _is_used_up(row: Reading) -> bool:
    """Return whether *row* of a refusal is full; so is one of which only the reset is told."""
    if row.limit == 0:
        return False
    return row.remaining == 0 or (row.remaining is None and row.limit is None and row.used is None)


def _exhausted(
    full: Sequence[Reading], otherwise: Dimension | None
) -> tuple[Dimension, float | None] | None:
    known = [row for row in full if row.remaining == 0]
    if not known:
        return (otherwise, None) if otherwise else None
    longest = max(known, key=lambda row: row.reset_s or 0.0)
    return longest.dimension, longest.period_s


def _readings(
    vendor: Vendor, headers: Mapping[str, str], page: Page, status: int
) -> tuple[Reading, ...]:
    names = vendor.names.intersection(headers)
    windows, extra, alone = _layout(vendor, names)
    found = [row for each in windows if (row := _reading(each, page, status)) is not None]
    if alone:
        return tuple(found)
    for form in extra:
        found += _EXTRAS[form](page, status)
    return merged(found)


class _Layout(NamedTuple):
    """What of a vendor's row an answer has; ``alone``: no two of it can be the same window."""

    windows: tuple[Window, ...]
    extra: tuple[Extra, ...]
    alone: bool


@lru_cache(maxsize=1024)
def _layout(vendor: Vendor, names: frozenset[str]) -> _Layout:
    """Return what an answer tells of, that has of the vendor's headers those with these *names*."""
    rows = [row for row in vendor.windows if {row.limit, row.remaining, row.reset} & names]
    usual = {row.dimension for row in rows if not row.spare}
    extra = tuple(form for form in vendor.extra if not names.isdisjoint(EXTRA_NAMES[form]))
    rows = [row for row in rows if not row.spare or row.dimension not in usual]
    return _Layout(tuple(rows), extra, not extra and len({r.dimension for r in rows}) == len(rows))


def _reading(row: Window, page: Page, status: int) -> Reading | None:
    limit = page.amount(row.limit)
    left = page.amount(row.remaining)
    if not limit and not left and status != _LIMITED:
        return None  # nothing is there, or only what stands for nothing
    reset = page.delay(row.reset)
    if limit is None and left is None and not reset:
        return None
    if left and row.rounded_to and left % row.rounded_to == 0:
        left -= row.rounded_to / 2
    if limit is not None and left is not None and left > limit:
        limit = left
    if row.part > 1:
        return _slice(row, limit, reset)
    period = row.period_s
    if row.period_by_reset and reset:
        period = _period(row, reset, limit, left)
    return Reading(row.dimension, period, limit, left, reset, row.refill, row.scope)


def _slice(row: Window, limit: float | None, reset: float | None) -> Reading | None:
    if not limit:
        return None
    part = max(1, limit // row.part)
    return Reading(row.dimension, row.period_s, part, None, reset, row.refill, row.scope)


def _period(row: Window, reset: float, limit: float | None, left: float | None) -> float:
    """Return the length of a window that is full again, or begins anew, in *reset* seconds."""
    if row.refill == "bucket" and limit and left is not None and left < limit:
        reset *= limit / (limit - left)
    if reset <= _PERIODS[0][1]:
        return MINUTE
    return next((period for period, most in _PERIODS if reset <= most), MONTH)
