"""Reads the price data of the package ``genai-prices``, as its objects hold it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Any, Final, NamedTuple, TypeAlias

from pricing.table import RowRecord, row_or_none

_RATES: Final = {
    "input_mtok": "input",
    "output_mtok": "output",
    "cache_read_mtok": "cache_read",
    "cache_write_mtok": "cache_write",
    "cache_write_1h_mtok": "cache_write_1h",
    "output_reasoning_mtok": "reasoning",
    "input_audio_mtok": "audio_input",
    "output_audio_mtok": "audio_output",
    "input_image_mtok": "image_input",
    "output_image_mtok": "image_output",
    "requests_kcount": "per_request",
}
_MODES: Final[Mapping[tuple[str, str], str]] = {
    ("processing", "batch"): "batch",
    ("service_tier", "flex"): "flex",
    ("service_tier", "priority"): "priority",
    ("service_tier", "fast"): "fast",
    ("speed", "fast"): "fast",
}

_EMBEDS: Final = "embed"

Amounts: TypeAlias = dict[str, Any]
"""By our name of a rate: a decimal, or an object with a base and tiers."""


class _Period(NamedTuple):
    """What holds from a day on; None is always."""

    since: date | None
    amounts: Amounts
    caveats: tuple[str, ...] = ()


def addresses(providers: Iterable[Any]) -> dict[str, str]:
    """Return by provider what its addresses begin with, as a pattern, each for one of them."""
    found: dict[str, str] = {}
    for provider in providers:
        if provider.api_pattern not in found.values():
            found[provider.id] = provider.api_pattern
    return found


def rows(providers: Iterable[Any]) -> Iterator[RowRecord]:
    """Yield a row for each model that reads tokens, each period and each mode.

    One that has no price for what it writes is left out, unless it is one of embeddings, which
    write nothing: for any other it would be a price that is missing.
    """
    for provider in providers:
        for model in provider.models:
            periods = _periods(model.prices)
            head = {"provider": provider.id, "model": model.id, "names": _names(model)}
            for mode, period in (*(("standard", one) for one in periods), *_modes(model, periods)):
                said = {"mode": mode, "from": period.since, "caveats": period.caveats}
                written = {"output": Decimal(0)} if _EMBEDS in model.id else {}
                row = row_or_none({**head, **said, **_flat(written | period.amounts)})
                if row is not None:
                    yield row


def _names(model: Any) -> tuple[str, ...]:
    spelled = [name for name in _spelled(model.match) if name[-1:].isalnum()]
    return tuple(name for name in dict.fromkeys(spelled) if name != model.id)


def _spelled(clause: Any) -> Iterator[str]:
    for kind in ("equals", "starts_with"):
        if name := getattr(clause, kind, None):
            yield name
    for inner in getattr(clause, "or_", ()):
        yield from _spelled(inner)


def _periods(prices: Any) -> list[_Period]:
    """Return the periods of *prices*, the first first.

    Of prices that hold at some hours only, the dearer one counts all day.
    """
    periods: list[_Period] = []
    for one in prices if isinstance(prices, list) else [prices]:
        constraint = getattr(one, "constraint", None)
        amounts = _amounts(getattr(one, "prices", one))
        if hasattr(constraint, "start_time"):
            periods = [_dearer(period, amounts) for period in periods]
        else:
            periods.append(_Period(getattr(constraint, "start_date", None), amounts))
    periods.sort(key=_start)
    return [
        one for place, one in enumerate(periods) if not place or one[1:] != periods[place - 1][1:]
    ]


def _start(period: _Period) -> date:
    return period.since or date.min


def _dearer(period: _Period, amounts: Amounts) -> _Period:
    both = (period.amounts, amounts)
    return _Period(period.since, max(both, key=_usual_output), ("peak_rate",))


def _usual_output(amounts: Amounts) -> Decimal:
    return _at(amounts.get("output", Decimal(0)), 0)


def _modes(model: Any, periods: list[_Period]) -> Iterator[tuple[str, _Period]]:
    """Yield the periods of the other modes: the rates that differ, on the usual ones."""
    variants = [
        (_MODES.get(next(iter(one.when.items()))), _start_of(one), _amounts(one.prices))
        for one in model.price_variants or ()
        if len(one.when) == 1
    ]
    for mode in dict.fromkeys(mode for mode, _, amounts in variants if mode and amounts):
        ours = [(since, amounts) for name, since, amounts in variants if name == mode]
        for since in sorted({*map(_start, periods), *(since for since, _ in ours)}):
            usual = [one for one in periods if _start(one) <= since]
            own = [amounts for begins, amounts in reversed(ours) if begins <= since]
            if usual and any(own):
                period = usual[-1]
                merged = {
                    name: rate for one in (period.amounts, *own) for name, rate in one.items()
                }
                yield mode, _Period(None if since == date.min else since, merged, period.caveats)


def _start_of(variant: Any) -> date:
    return getattr(variant.constraint, "start_date", None) or date.min


def _amounts(prices: Any) -> Amounts:
    return {
        _RATES[name]: value
        for name, value in vars(prices).items()
        if name in _RATES and value is not None
    }


def _flat(amounts: Amounts) -> dict[str, Any]:
    starts = {tier.start for value in amounts.values() for tier in getattr(value, "tiers", ())}
    tiers = [{"over": over, **_rates(amounts, over + 1)} for over in sorted(starts) if over > 0]
    return {**_rates(amounts, 0), "tiers": tiers}


def _rates(amounts: Amounts, tokens: int) -> dict[str, Decimal]:
    rates = {name: _at(value, tokens) for name, value in amounts.items()}
    if "per_request" in rates:
        rates["per_request"] /= 1000
    return rates


def _at(value: Any, tokens: int) -> Decimal:
    """Return the rate that *value* is for a call whose input is so many *tokens*."""
    found: Decimal = getattr(value, "base", value)
    for tier in getattr(value, "tiers", ()):
        if tokens > tier.start:
            found = tier.price
    return found
