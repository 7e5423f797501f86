"""What of an answer is there before anything is said: its status and its headers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gateway.upstream.redact import Mask
from pricing.record import record

_NOTHING: Final = Mask({})


@record(frozen=True, slots=True)
class Head:
    """The head of an answer; header names are lower case. ``body`` is a refusal's, else empty.

    ``mask`` takes the account's credentials out of what it tells.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    mask: Mask = _NOTHING


class Headed:
    """A call that can tell the head of its answer, and whether it was sent at all.

    No abstract class: whether a call is one is asked for each, and that takes those five times as
    long.
    """

    __slots__ = ()

    def is_unsent(self) -> bool:
        """Return whether it is sure that nothing of the call was sent: then it cost nothing."""
        return False

    def head(self) -> Head | None:
        """Return the head, None as long as, or if, none has come."""
        raise NotImplementedError
