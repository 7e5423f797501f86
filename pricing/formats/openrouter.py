"""Reads a catalogue as OpenRouter's ``/models`` answers with one: dollars per token, as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from pricing.table import RowRecord, row_or_none

PROVIDER: Final = "openrouter"
_TOKENS: Final = {
    "prompt": "input",
    "completion": "output",
    "input_cache_read": "cache_read",
    "input_cache_write": "cache_write",
    "internal_reasoning": "reasoning",
    "audio": "audio_input",
}
_OWN_SALE: Final = {
    "openai": "openai",
    "anthropic": "anthropic",
    "google": "google",
    "x-ai": "x-ai",
}
"""Makers who sell their models themselves, at the one list price that resellers pass on."""
_OPEN: Final = ("gpt-oss", "gemma")
"""Models of theirs whose weights are free, so that every host sets a price of its own."""


def fits(value: Any) -> bool:
    """Return whether *value* looks like such a catalogue."""
    return isinstance(value, dict) and isinstance(value.get("data"), list)


def rows(value: Any) -> Iterator[RowRecord]:
    """Yield the rows of *value*, and the same again for makers who sell at the price listed.

    What has no price, or one that depends on where the call goes, is left out. A price of 0 for a
    part of the tokens, where the whole is not free, means that the part has none of its own. The
    price of a picture is left out: pictures are counted as tokens too.
    """
    for item in value["data"]:
        name = item.get("id") if isinstance(item, dict) else None
        rates = _rates(item.get("pricing")) if isinstance(name, str) and name else None
        if rates is None:
            continue
        own = row_or_none({"provider": PROVIDER, "model": name, **rates})
        if own is None:
            continue
        yield own
        maker, _, bare = str(name).partition("/")
        if maker in _OWN_SALE and bare and ":" not in bare and not bare.startswith(_OPEN):
            caveats = ("listed_by_reseller",)
            sold = {"provider": _OWN_SALE[maker], "model": bare, "caveats": caveats}
            yield own.model_copy(update=sold)


def _rates(pricing: Any) -> dict[str, Decimal] | None:
    if not isinstance(pricing, Mapping):
        return None
    read = {ours: _per_million(pricing.get(theirs)) for theirs, ours in _TOKENS.items()}
    known = {name: rate for name, rate in read.items() if rate is not None}
    if "input" not in known or "output" not in known or min(known.values()) < 0:
        return None
    if known["input"] or known["output"]:
        known = {name: rate for name, rate in known.items() if rate or name in ("input", "output")}
    request = _dollars(pricing.get("request"))
    return {**known, "per_request": request} if request and request > 0 else known


def _per_million(value: Any) -> Decimal | None:
    dollars = _dollars(value)
    return None if dollars is None else dollars * 1_000_000


def _dollars(value: Any) -> Decimal | None:
    try:
        found = Decimal(str(value))
    except InvalidOperation:
        return None
    return found if found.is_finite() else None
