"""From tokens to money."""

from __future__ import annotations

from typing import Final

from pricing.price import Price
from pricing.usage import Usage

MOST: Final = 10**18
"""A million dollars: more than any call costs. What comes to more is a fault, and charged this."""

_PICO: Final = 10**12


def cost(usage: Usage, price: Price) -> int:
    """Return what one call's *usage* costs at *price*, in picodollars, exactly.

    Each token is charged once: a part of the input or output that has a rate of its own is
    taken out of the rest. Where the price has tiers, the size of the whole input chooses one, for
    all of the call. It is ``MOST`` at most, so that every ledger can hold it.
    """
    return min(sum(halves(usage, price)), MOST)


def halves(usage: Usage, price: Price) -> tuple[int, int]:
    """Return the same in two: what was read, and the call as such; and what was written."""
    if price.tiers:
        price = price.within(usage.input_tokens)
    return _read(usage, price), _written(usage, price)


def _read(usage: Usage, price: Price) -> int:
    plain = price.per_request + usage.images * price.image
    parts = (
        usage.cache_read_tokens
        + usage.cache_write_tokens
        + usage.cache_write_1h_tokens
        + usage.audio_input_tokens
        + usage.image_input_tokens
    )
    plain += max(usage.input_tokens - parts, 0) * price.input
    if not parts:
        return plain
    cache_write = _rate(price.cache_write, price.input)
    return (
        plain
        + usage.cache_read_tokens * _rate(price.cache_read, price.input)
        + usage.cache_write_tokens * cache_write
        + usage.cache_write_1h_tokens * _rate(price.cache_write_1h, cache_write)
        + usage.audio_input_tokens * _rate(price.audio_input, price.input)
        + usage.image_input_tokens * _rate(price.image_input, price.input)
    )


def _written(usage: Usage, price: Price) -> int:
    parts = usage.reasoning_tokens + usage.audio_output_tokens + usage.image_output_tokens
    plain = max(usage.output_tokens - parts, 0) * price.output
    if not parts:
        return plain
    return (
        plain
        + usage.reasoning_tokens * _rate(price.reasoning, price.output)
        + usage.audio_output_tokens * _rate(price.audio_output, price.output)
        + usage.image_output_tokens * _rate(price.image_output, price.output)
    )


def dollars(picodollars: int) -> str:
    """Return *picodollars*, not negative, as a decimal number of US dollars, without rounding."""
    whole, rest = divmod(picodollars, _PICO)
    return f"{whole}.{rest:012d}".rstrip("0") if rest else str(whole)


def _rate(own: int | None, otherwise: int) -> int:
    return otherwise if own is None else own
