"""What is wrong with an answer, whatever it was meant to say."""

from __future__ import annotations

from techniques.core.errors import UpstreamFailed


def broken(error: Exception | None) -> UpstreamFailed:
    """Return the failure of a connection that broke, by *error* if it is known."""
    failed = UpstreamFailed("The connection to the provider broke.", "transport", retryable=True)
    failed.__cause__ = error
    return failed


def endless() -> UpstreamFailed:
    """Return the failure of an answer that is larger than any can be."""
    return UpstreamFailed("The provider's answer has no end.", "invalid_answer", retryable=True)
