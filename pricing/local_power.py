"""What a token costs on a machine of one's own: its power, and what it takes to replace it."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from pricing.price import PICO, Price

_HOUR_S: Final = 3600


def hourly_of_power(watts: Decimal, usd_per_kwh: Decimal) -> Decimal:
    """Return the dollars an hour of *watts*.

    Raises:
        ValueError: *watts* are not more than 0, or a kilowatt hour costs less than nothing.
    """
    if watts <= 0:
        raise ValueError("watts must be more than 0.")
    if usd_per_kwh < 0:
        raise ValueError("usd_per_kwh must not be below 0.")
    return watts / 1000 * usd_per_kwh


def per_1k(hourly_usd: Decimal, tokens_per_s: Decimal) -> Decimal:
    """Return the dollars per thousand tokens of a machine that makes so many a second.

    Raises:
        ValueError: It makes none, or an hour of it costs less than nothing.
    """
    if tokens_per_s <= 0:
        raise ValueError("tokens_per_s must be more than 0.")
    if hourly_usd < 0:
        raise ValueError("hourly_usd must not be below 0.")
    return hourly_usd / (tokens_per_s * _HOUR_S) * 1000


def local_price(
    hourly_usd: Decimal, tokens_per_s: Decimal, input_tokens_per_s: Decimal | None = None
) -> Price:
    """Return the price of tokens: written ones at *tokens_per_s*, read ones at their own pace.

    What the machine remembers of a prompt takes no time, and so costs nothing.

    Raises:
        ValueError: As for ``per_1k``.
    """
    read = per_1k(hourly_usd, tokens_per_s if input_tokens_per_s is None else input_tokens_per_s)
    return Price(
        input=_pico(read),
        output=_pico(per_1k(hourly_usd, tokens_per_s)),
        cache_read=0,
        source="local_power",
    )


def _pico(usd_per_1k: Decimal) -> int:
    return int(usd_per_1k / 1000 * PICO)
