"""A sub-call that wants to be let through, and what it needs for that."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from gateway.admission.need.traits import Traits
from gateway.admission.need.value import Need, SubCall
from gateway.stores.ledger import Amounts
from gateway.upstream.account import Account

NONE: Final[Amounts] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Asking:
    """A sub-call that is to be let through.

    ``model`` is the provider's name of it, ``label`` the operator's. ``needs`` are of the windows
    of its account, ``own`` of those of its caller, in the pool ``purse``.
    """

    lease: str
    account: Account
    model: str
    label: str
    call: SubCall
    need: Need
    needs: Amounts
    purse: str
    own: Amounts

    @property
    def traits(self) -> Traits:
        """What of its request told its need."""
        return self.call.traits
