"""How many tokens a request is: by rule of thumb, put right by what the provider counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from gateway.metering import estimate
from gateway.metering.ledger import CallFinished
from techniques.core.request import Message, Opaque, Request, Tool
from techniques.parts.decisions import spelled

CHARACTERS: Final = 4
"""Of a token, about."""
_DOUBT: Final = 0.8
_LEAST, _MOST = 0.4, 3.0
_TELLING: Final = 100
"""Tokens below which a request tells nothing of others: the provider's own share is too large."""
_WHOLE: Final = ("answer", "candidate")
"""Roles whose calls send the conversation with little beside it."""


class Measure:
    """Counts what *request* would be with other messages.

    *ratio* is how many tokens its provider counts for one of ours; None: it has not counted yet.
    """

    def __init__(self, request: Request, ratio: float | None = None) -> None:
        self._request = request
        self._ratio = ratio
        self._beside = sum(map(_tool_tokens, request.tools))
        if request.response_format is not None:
            self._beside += len(spelled(request.response_format.schema)) // CHARACTERS

    def tokens(self, messages: Sequence[Message]) -> int:
        """Return about how many tokens the request is with these *messages*."""
        return round(self._plain(messages) * (self._ratio or 1.0))

    def surely(self, tokens: int) -> int:
        """Return what so many *tokens* are at the least: less, while the provider has not counted.

        It is left to the provider to refuse what may yet fit.
        """
        return tokens if self._ratio else round(tokens * _DOUBT)

    def room(self, window: int, output: int) -> int:
        """Return how many tokens of *window* are there for the conversation.

        What the answer may have is not: as the request says, else *output*.
        """
        return window - (self._request.sampling.max_output_tokens or output)

    def ratio_to(self, counted: int) -> float | None:
        """Return how many tokens the provider counts for one of ours, None if that tells nothing.

        *counted* is its count of the request.
        """
        plain = self._plain(self._request.messages)
        return min(max(counted / plain, _LEAST), _MOST) if plain >= _TELLING else None

    def _plain(self, messages: Sequence[Message]) -> int:
        return self._beside + sum(map(estimate.turn_tokens, messages))


def least_counted(rows: Iterable[CallFinished]) -> int:
    """Return the smallest input of *rows* that have the whole conversation, 0 if there is none."""
    return min((row.usage.input_tokens for row in rows if row.role in _WHOLE), default=0)


def _tool_tokens(tool: Tool | Opaque) -> int:
    if isinstance(tool, Opaque):
        return len(spelled(tool.value)) // CHARACTERS
    return len(tool.name + (tool.description or "") + spelled(tool.parameters)) // CHARACTERS
