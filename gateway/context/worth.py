"""Whether a cut pays: what it saves in the turns to come, against what it costs now.

Both in picodollars by the models' prices; where one has no price, in tokens, of which those that
a cache holds count nothing.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from pricing.cost import cost
from pricing.price import Price
from pricing.usage import Usage

_TOKENS: Final = Price(input=1, output=1, cache_read=0)
_TURNS: Final = 512
_FEW: Final = 20
"""Conversations that must have reached a turn before the further way of others counts."""
_MANY: Final = 2000
_WHOSE: Final = 1024
_RECENT: Final = 0.2


@dataclass(frozen=True, slots=True)
class Deal:
    """A cut as a trade; all but ``turns``, ``sent`` and ``cached`` in tokens.

    ``saved`` is what each further call does not send, ``kept`` what stands behind the cut. A
    summary reads ``read`` and writes ``written``. ``turns`` are still to come, this one included;
    ``sent`` is how often a turn sends the conversation, ``cached`` the share of it that a
    provider's cache had.
    """

    saved: int
    kept: int
    turns: float
    sent: float = 1.0
    cached: float = 0.0
    read: int = 0
    written: int = 0


def gain(deal: Deal, price: Price | None, writer: Price | None = None) -> float:
    """Return what *deal* brings at *price*, where a summary costs what *writer* asks.

    Positive where it pays: tokens saved over all turns, less the summary, less reading anew,
    once, what the cache had of the rest.
    """
    if price is None or (deal.read and writer is None):
        price = writer = _TOKENS
    saves = _read(deal.saved, deal.cached, price) * deal.turns * deal.sent
    again = (_read(deal.kept, 0.0, price) - _read(deal.kept, deal.cached, price)) * deal.sent
    summary = cost(Usage(deal.read, deal.written), writer or price) if deal.read else 0
    return saves - again - summary


def _read(tokens: int, cached: float, price: Price) -> int:
    usage = Usage(tokens, cache_read_tokens=round(tokens * cached))
    return cost(usage, price) - price.per_request


class Ways:
    """How far conversations go: how many of a caller's came to each turn."""

    def __init__(self) -> None:
        self._reached: OrderedDict[str, list[int]] = OrderedDict()

    def reach(self, whose: str, turn: int) -> None:
        """Count a conversation of *whose* that has come to *turn*, from 1."""
        reached = self._reached.setdefault(whose, [])
        self._reached.move_to_end(whose)
        if turn > _TURNS:
            return
        reached.extend([0] * (turn - len(reached)))
        reached[turn - 1] += 1
        if reached[0] > _MANY:  # what is long ago counts less and less
            reached[:] = [count // 2 for count in reached]
        if len(self._reached) > _WHOSE:
            self._reached.popitem(last=False)

    def ahead(self, whose: str, turn: int) -> float:
        """Return how many turns a conversation of *whose* that is at *turn* still has, it included.

        As others that came so far went on; while few did, as many again as it has had (Lindy).
        """
        reached = self._reached.get(whose, [])
        here = reached[turn - 1] if turn <= len(reached) else 0
        if here < _FEW:
            return float(turn)
        return 1.0 + sum(reached[turn:]) / here


@dataclass(slots=True)
class Habit:
    """How one use of a model goes of late.

    ``cached`` is the share of input that caches had, ``sent`` how often a turn sends the
    conversation, ``ratio`` how many tokens the provider counts for one of ours; None until it has
    counted.
    """

    cached: float = 0.0
    sent: float = 1.0
    ratio: float | None = None

    def learn(self, cached: float, sent: float, ratio: float | None) -> None:
        """Take in how one more turn went."""
        first = self.ratio is None
        self.cached += (cached - self.cached) * (1.0 if first else _RECENT)
        self.sent += (sent - self.sent) * (1.0 if first else _RECENT)
        if ratio is not None:
            self.ratio = (
                ratio if self.ratio is None else self.ratio + (ratio - self.ratio) * _RECENT
            )
