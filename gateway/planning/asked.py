"""A call as it is to be planned."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.policy.keys import Caller
from gateway.policy.wishes import Wishes
from gateway.wire.dialect import Call
from pricing.record import record
from techniques.core.json import NOTHING


@record(frozen=True, slots=True)
class Asked:
    """A call, who makes it, and what came with it.

    ``headers`` are those that the provider may see; ``attempted`` is how often the client has
    already tried (its SDK counts), ``read_s`` after how many seconds without a word it gives up.
    ``request_id`` names it, and what it holds; without one it gets a name.
    """

    call: Call
    caller: Caller
    wishes: Wishes
    headers: Mapping[str, str] = NOTHING
    attempted: int = 0
    read_s: float | None = None
    request_id: str = ""
