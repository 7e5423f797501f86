"""What is wrong with an answer, whatever it was meant to say."""

from __future__ import annotations

import re
from typing import Final

from techniques.core.errors import Said, UpstreamFailed

_NAMED: Final = re.compile(
    r"(?i)model[_ ]?not[_ ]?(?:found|available|exist)|model_decommissioned|deploymentnotfound"
    r"|\b(?:unknown|invalid|no_such)_model\b"
)
_SAID: Final = re.compile(
    r"(?i)\W*(?:(?:the|an?|unknown|invalid|requested|no such) )*model\b|no endpoints found for\b"
)
_NOT_THERE: Final = (404, 410)


def broken(error: Exception | None) -> UpstreamFailed:
    """Return the failure of a connection that broke, by *error* if it is known."""
    failed = UpstreamFailed("The connection to the provider broke.", "transport", retryable=True)
    failed.__cause__ = error
    return failed


def endless() -> UpstreamFailed:
    """Return the failure of an answer that is larger than any can be."""
    return UpstreamFailed("The provider's answer has no end.", "invalid_answer", retryable=True)


def lacks_model(said: Said) -> bool:
    """Return whether a provider has surely *said* that it does not have the model.

    Others are told to go elsewhere for that, and a client's own words may stand in an error about
    anything else: so it must have a name that says so, or the status and the first words.
    """
    if _NAMED.search(f"{said.code} {said.type}"):
        return True
    return said.status in _NOT_THERE and not said.code and bool(_SAID.match(said.message))
