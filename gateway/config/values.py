"""Values that a person writes with a unit, and how they are read."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time
from typing import Annotated, Any, Final
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, SecretStr

WITHOUT: Final = "none"
_SIZES = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}
_SIZES |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
_TIMES = {"": 1.0, "MS": 0.001, "S": 1.0, "M": 60.0, "H": 3600.0, "D": 86400.0}
_NUMBER_AND_UNIT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")


def _read(value: Any, units: dict[str, float] | dict[str, int], what: str) -> Any:
    if not isinstance(value, str):
        return value
    match = _NUMBER_AND_UNIT.fullmatch(value)
    if match is None or match[2].upper() not in units:
        raise ValueError(f"{value!r} is no {what}")
    return float(match[1]) * units[match[2].upper()]


def _size(value: Any) -> Any:
    read = _read(value, _SIZES, "size such as 20MiB")
    return int(read) if isinstance(read, float) else read


def _duration(value: Any) -> Any:
    return _read(value, _TIMES, "duration such as 30s or 1h")


def _zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (KeyError, OSError, ValueError) as error:  # none, a folder of some, no name of any
        raise ValueError(f"there is no time zone {value!r}") from error
    return value


def _moment(value: Any) -> Any:
    """Return *value*, a text or what YAML makes of one, as a time of UTC."""
    try:
        read = _time(value)
        return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"{value!r} is no date or time such as 2027-01-31 or 2027-01-31T18:00:00Z"
        ) from None


def _time(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime.combine(value, time())
    return datetime.fromisoformat(value)


def _proxy(value: SecretStr) -> SecretStr:
    if not _is_proxy(value.get_secret_value()):
        raise ValueError("write http://HOST:PORT, or http://NAME:PASSWORD@HOST:PORT")
    return value


def _is_proxy(text: str) -> bool:
    try:
        url = urlsplit(text)
        named = bool(url.hostname) and url.port != 0
    except ValueError:
        return False
    return named and url.scheme == "http" and not (url.path.strip("/") or url.query or url.fragment)


def _own_proxy(value: SecretStr) -> SecretStr:
    return value if value.get_secret_value() == WITHOUT else _proxy(value)


def worded(value: Any) -> Any:
    """Return *value*, a truth value as the word it was: YAML reads ``off`` and ``on`` so."""
    return {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value


Size = Annotated[int, BeforeValidator(_size)]
"""A number of bytes; written ``20MiB``, ``5MB`` or plain."""

Seconds = Annotated[float, BeforeValidator(_duration)]
"""A time in seconds; written ``90``, ``1.5s``, ``250ms`` or ``1h``."""

Moment = Annotated[datetime, BeforeValidator(_moment)]
"""A date or a time by ISO 8601: a date is the midnight that it begins with, and without a zone it
is UTC's."""

Zone = Annotated[str, AfterValidator(_zone)]
"""The IANA name of a time zone, such as ``Europe/Berlin``."""

Proxy = Annotated[SecretStr, AfterValidator(_proxy)]
"""The URL of an HTTP proxy, which may have a password in it."""

OwnProxy = Annotated[SecretStr, AfterValidator(_own_proxy)]
"""The same, or ``none``."""
