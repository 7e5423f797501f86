"""How the value of a wish is read, from a header's text or from JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Final, NoReturn, TypeAlias

import orjson

from techniques.core.errors import RequestRejected
from techniques.core.json import Json

LONGEST_RUN: Final = 256
"""Characters of a run's name."""
_BELOW_RUNS: Final = ("/events", "/resume", "/cancel", "/fork", "/export")
_MOST_TEXTS: Final = 32
_LONGEST_LABEL: Final = 64
_MOST: Final = 1_000_000_000
"""Of a wish that is an amount; what is exact of ``1e900000`` would take minutes to write out."""

Reader: TypeAlias = Callable[[str, Json], Json]
"""From where a wish was said and its value to what it means; raises ``RequestRejected``."""


def _wrong(at: str, expected: str) -> NoReturn:
    raise RequestRejected(f"{at} must be {expected}.", code="invalid_wish", param=at)


def word(at: str, value: Json) -> str:
    """Return a text, at most 256 characters."""
    if not isinstance(value, str) or not value or len(value) > 256 or "\0" in value:
        _wrong(at, "a text of 1 to 256 characters, none of them NUL")
    return value


def is_run_name(text: str) -> bool:
    """Return whether a run may be called *text*: it has to fit a header, and an address of its own.

    Below its address ``/events`` and others are something else.
    """
    if text == "import" or text.endswith(_BELOW_RUNS):
        return False
    return 0 < len(text) <= LONGEST_RUN and text.isprintable()


def run_name(at: str, value: Json) -> str:
    """Return the name of a run."""
    if not isinstance(value, str) or not is_run_name(value):
        below = ", ".join(_BELOW_RUNS)
        _wrong(at, f"a name of 1 to 256 printable characters that does not end in {below}")
    return value


def choice(*words: str) -> Reader:
    """Return what reads one of *words*."""

    def read(at: str, value: Json) -> str:
        if value not in words:
            _wrong(at, f"one of {', '.join(words)}")
        return str(value)

    return read


def whole(least: int, most: int) -> Reader:
    """Return what reads a whole number from *least* to *most*."""

    def read(at: str, value: Json) -> int:
        text = str(value)
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None
        if number is None or isinstance(value, bool) or not least <= number <= most:
            _wrong(at, f"a whole number from {least} to {most}")
        return number

    return read


def amount(at: str, value: Json) -> Decimal:
    """Return an amount, exactly as it is written."""
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        amount = Decimal(-1)
    if isinstance(value, bool) or not amount.is_finite() or not 0 <= amount <= _MOST:
        _wrong(at, f"a number from 0 to {_MOST}")
    return amount


def weight(at: str, value: Json) -> float:
    """Return an amount as a number."""
    return float(amount(at, value))


def label(at: str, value: Json) -> str:
    """Return a short text."""
    if (
        not isinstance(value, str)
        or not 0 < len(value) <= _LONGEST_LABEL
        or not value.isprintable()
    ):
        _wrong(at, f"a text of 1 to {_LONGEST_LABEL} printable characters")
    return value


def names(at: str, value: Json) -> tuple[str, ...]:
    """Return names, from a list or a text with commas."""
    parts = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
    if not isinstance(parts, list) or not parts or not all(p and isinstance(p, str) for p in parts):
        _wrong(at, "a list of model names, separated by commas")
    return tuple(parts)


def texts(at: str, value: Json) -> tuple[str, ...]:
    """Return texts, from a list, a JSON list or one text."""
    if isinstance(value, str) and value.startswith("["):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            value = None
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not 0 < len(texts) <= _MOST_TEXTS:
        _wrong(at, f"a text, or a list of 1 to {_MOST_TEXTS} texts")
    return tuple(word(at, text) for text in texts)


def json_object(at: str, value: Json) -> Mapping[str, Json]:
    """Return an object, from one or from its JSON."""
    if isinstance(value, str):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            value = None
    if not isinstance(value, dict):
        _wrong(at, 'a JSON object such as {"num_samples": 5}')
    return value


def truth(at: str, value: Json) -> bool:
    """Return a truth value."""
    if value in (True, "1", "true"):
        return True
    if value in (False, "0", "false"):
        return False
    _wrong(at, "1 or 0")
