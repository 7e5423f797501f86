"""What is left of the windows that a call is in, for its client to be told."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.admission.left import Left, tightest
from gateway.metering.ledger import Ledger
from gateway.stores.ledger import Answer, Granted, Waiting


def tell_left(ledger: Ledger, own: Answer, theirs: Answer) -> None:
    """Keep what is left for the caller to be told: of its own windows, else its account's."""
    if isinstance(theirs, Granted):
        ledger.left.update(tightest(theirs.left))
    if isinstance(own, Granted):
        of_key = tightest(own.left)
        ledger.left.update(of_key)
        ledger.of_key.update(of_key)


def tell_full(ledger: Ledger, answer: Answer, caps: Mapping[str, int]) -> None:
    """Keep what a call waits for that is not let through, in a window of one of these *caps*.

    For such a call nothing is left of it.
    """
    if isinstance(answer, Waiting) and answer.binding in caps:
        full = Left(answer.binding, caps[answer.binding], 0, answer.eta_ms or 0)
        ledger.full[full.dimension] = full
