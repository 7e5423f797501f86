"""A sub-call that wants to be let through, and what it needs for that."""

from __future__ import annotations

from math import inf
from types import MappingProxyType
from typing import Final, NamedTuple

from gateway.admission.need.value import Need, SubCall
from gateway.stores.ledger import Amounts
from gateway.upstream.account import Account

NONE: Final[Amounts] = MappingProxyType({})
NO_NEED: Final = Need(0, 0, 0, 0)
_SURELY_ONE_TOKEN: Final = 6
"""Bytes of text that are a token at least."""


class Asking(NamedTuple):
    """A sub-call that is to be let through.

    ``model`` is the provider's name of it, ``label`` the operator's. ``needs`` are of the windows
    of its account, ``own`` of those of its caller, in the pool ``purse``. ``call`` is None of one
    that needs nothing and of which nothing is to be learned. It has waited ``held_s``, and goes
    elsewhere at ``leaves_at`` (a time of ``loop_time``).
    """

    lease: str
    account: Account
    model: str
    label: str
    call: SubCall | None
    need: Need
    needs: Amounts
    purse: str
    own: Amounts
    held_s: float = 0.0
    leaves_at: float = inf


def surely(account: Account, call: SubCall) -> int:
    """Return how many tokens *call* is taken to be at least, whatever it then uses."""
    stated = call.traits.stated if account.reserves else None
    return max(call.traits.text_bytes // _SURELY_ONE_TOKEN, stated or 0)
