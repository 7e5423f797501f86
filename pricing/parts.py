"""Which part of a cost is for what was read, and which for what was written."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Final

from pricing.cost import cost
from pricing.price import Price
from pricing.usage import Usage

_NOTHING_WRITTEN: Final[dict[str, Any]] = {
    one.name: 0
    for one in fields(Usage)
    if one.name.endswith("output_tokens") or one.name == "reasoning_tokens"
}


def output_part(spent: int, usage: Usage, price: Price) -> int:
    """Return how many of the *spent* picodollars are for what a call wrote; the rest is for input.

    *price* tells the proportion, and *spent* the whole, for they may come from different places.
    What is paid for a call as such counts as input.
    """
    whole = cost(usage, price)
    if not whole:
        return 0
    read = cost(replace(usage, **_NOTHING_WRITTEN), price)
    return spent * (whole - read) // whole
