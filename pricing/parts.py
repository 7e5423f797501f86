"""Which part of a cost is for what was read, and which for what was written."""

from __future__ import annotations

from pricing.cost import MOST, halves
from pricing.price import Price
from pricing.usage import Usage


def output_part(spent: int, usage: Usage, price: Price) -> int:
    """Return how many of the *spent* picodollars are for what a call wrote; the rest is for input.

    *price* tells the proportion, and *spent* the whole, for they may come from different places.
    What is paid for a call as such counts as input.
    """
    read, written = halves(usage, price)
    whole = min(read + written, MOST)
    return spent * (whole - min(read, MOST)) // whole if whole else 0
