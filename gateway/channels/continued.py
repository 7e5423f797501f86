"""Goes on with an answer that broke off: the model is shown what it had said, as its own words.

Only text can be gone on with, and only where the model takes the beginning of its answer for one
and the operator wants it so. Else an answer is asked for anew, and what there was of it is not
used: the two are never mixed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from techniques.core.capabilities import Capabilities
from techniques.core.events import Event, Started, TextDelta, UsageReported, Warned
from techniques.core.request import Request, said

_EVERY: Final = 1024
"""Characters, about 256 tokens, after which what there is of an answer is written down."""
_GROWTH: Final = 8
"""... or an eighth of what there is, where that is more: all of it is written each time."""
_A_TOKEN: Final = 4
_BESIDE: Final = (Started, UsageReported, Warned)


class Growing:
    """The text of an answer as it comes."""

    def __init__(self) -> None:
        self._pieces: list[str] | None = []
        self._length = 0
        self._due = _EVERY

    @property
    def text(self) -> str:
        """All of it so far; nothing once there is more than text."""
        return "".join(self._pieces or ())

    def take(self, event: Event) -> bool:
        """Take *event* in; return whether what there is now is to be written down."""
        if self._pieces is None or isinstance(event, _BESIDE):
            return False
        if not isinstance(event, TextDelta) or event.logprobs is not None:
            self._pieces = None
            return False
        self._pieces.append(event.text)
        self._length += len(event.text)
        if self._length < self._due:
            return False
        self._due = self._length + max(_EVERY, self._length // _GROWTH)
        return True


def can_continue(request: Request, able: Capabilities) -> bool:
    """Return whether the answer to *request*, in full, could be gone on with."""
    thinks = able.thinking if request.thinking is None else request.thinking.thinks
    sampling = request.sampling
    wants_more = request.tools or request.response_format or thinks or sampling.logprobs
    asks = bool(request.messages) and request.messages[-1].role == "user"
    return able.prefill != "none" and request.stream and asks and sampling.n == 1 and not wants_more


def continued(request: Request, begun: str) -> Request:
    """Return *request* with its answer *begun*; no space may end it, which some models refuse."""
    most = request.sampling.max_output_tokens
    left = None if most is None else max(most - len(begun) // _A_TOKEN, 1)
    asked = request.with_turns(said("assistant", begun))
    return replace(
        asked, continues=True, sampling=replace(request.sampling, max_output_tokens=left)
    )
