"""What an answer came to: its tokens, how far they are known, and what they are charged."""

from __future__ import annotations

from typing import NamedTuple

from pricing.charge import Charge
from pricing.usage import Usage


class Weighed(NamedTuple):
    """What one sub-call used, and what it is charged: for its row and for its run alike.

    ``estimated`` and ``guessed`` are as ``estimated`` and ``reasoning_estimated`` of
    ``CallFinished``; ``owed`` is None if the price is not known.
    """

    usage: Usage
    estimated: bool
    guessed: bool
    owed: Charge | None

    @property
    def cost(self) -> int | None:
        """Picodollars, None if they are not known."""
        return None if self.owed is None else self.owed.cost

    @property
    def counted(self) -> tuple[int, int] | None:
        """Input and output tokens, None where nobody counted them."""
        return None if self.estimated else (self.usage.input_tokens, self.usage.output_tokens)
