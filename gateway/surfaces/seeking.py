"""What is asked of the ledger, in words: from the fields of an address or a command."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from gateway.policy.asked import Faulty
from gateway.stores.database.bills import GROUPS
from gateway.stores.database.rows import instant
from gateway.stores.database.sought import FILTERS, MOST, Sought
from gateway.surfaces.numbers import whole

_NULLABLE: Final = frozenset(name for name, column in FILTERS.items() if column.nullable)


def fields_of(pairs: Iterable[tuple[str, str]], others: Iterable[str]) -> dict[str, str]:
    """Return *pairs* by name: filters, ``since``, ``until`` and *others*.

    Raises:
        Faulty: There is no such field, or it is there twice: one that was passed over would make
            another bill of it.
    """
    known = (*FILTERS, "since", "until", *others)
    fields: dict[str, str] = {}
    for name, value in pairs:
        if name not in known:
            raise Faulty(name[:64], f"is not known; there are {', '.join(known)}")
        if name in fields:
            raise Faulty(name, "may be said once")
        fields[name] = value
    return fields


def sought_of(fields: Mapping[str, str]) -> Sought:
    """Return which rows *fields* mean; of some an empty text means those that have none.

    Raises:
        Faulty: A value is none that can be.
    """
    wanted: dict[str, Any] = {name: fields[name] for name in FILTERS if name in fields}
    for name, value in wanted.items():
        if not value and name not in _NULLABLE:
            raise Faulty(name, "must not be empty")
    for name in ("since", "until"):
        if fields.get(name):
            wanted[name] = moment_of(name, fields[name])
    return Sought(**wanted)


def moment_of(name: str, text: str) -> int:
    """Return the instant that *text* is, of UTC unless it says otherwise.

    Raises:
        Faulty: It is none; *name* is the field.
    """
    try:
        at = datetime.fromisoformat(text)
        return instant(at.replace(tzinfo=at.tzinfo or UTC).timestamp())
    except (ValueError, OverflowError) as error:
        raise Faulty(
            name, "must be a day or an instant such as 2026-01-31 or 2026-01-31T12:00:00Z"
        ) from error


def limit_of(text: str | None, usual: int) -> int:
    """Return how many rows *text* asks for.

    Raises:
        Faulty: It is no number that can be.
    """
    if not text:
        return usual
    limit = whole(text, 1, MOST)
    if limit is None:
        raise Faulty("limit", f"must be a number from 1 to {MOST}")
    return limit


def choice_of(name: str, text: str | None, choices: tuple[str, ...]) -> str:
    """Return *text*, which is one of *choices*; without one the first.

    Raises:
        Faulty: It is none of them; *name* is the field.
    """
    if not text:
        return choices[0]
    if text not in choices:
        raise Faulty(name, f"must be one of {', '.join(choices)}")
    return text


def groups_of(text: str | None) -> tuple[str, ...]:
    """Return the names in *text*, by which a bill is to be parted; commas are between them.

    Raises:
        Faulty: One of them is none.
    """
    names = [name.strip() for name in (text or "").split(",") if name.strip()]
    for name in names:
        if name not in GROUPS:
            raise Faulty("by", f"{name[:64]!r} is none of {', '.join(GROUPS)}")
    return tuple(dict.fromkeys(names))


def cursor_of(place: tuple[int, str]) -> str:
    """Return *place*, that of a row, as one word."""
    return urlsafe_b64encode(orjson.dumps(place)).rstrip(b"=").decode()


def place_at(cursor: str | None) -> tuple[int, str] | None:
    """Return the place that *cursor* was made of.

    Raises:
        Faulty: It was made of none.
    """
    if not cursor:
        return None
    try:
        place = orjson.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except ValueError:
        place = None
    match place:
        case [int(at), str(name)] if type(at) is int and 0 <= at < 2**63 and "\0" not in name:
            return at, name
    raise Faulty("cursor", "is none that was given here")
