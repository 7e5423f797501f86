"""Cuts the text of a finished answer into pieces, as a stream would bring it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from techniques.core.citation import Citation, passages
from techniques.core.events import Cited, Event, TextDelta
from techniques.core.json import Json

_CHUNK = re.compile(r".{1,160}(?:\s+|$)|.{1,160}", re.DOTALL)  # about 40 tokens
_LARGE = re.compile(r".{1,4096}(?:\s+|$)|.{1,4096}", re.DOTALL)
_LONG = 2**16
"""Characters from which on a text is the answer of nobody who reads along."""


def pieces(
    text: str, logprobs: Json, citations: Sequence[Citation] = (), start: int = 0
) -> Iterator[Event]:
    """Yield *text*, which begins at *start* of an answer's, and each source after what it is of.

    It is cut into chunks of about forty tokens, of about a thousand if it is very long.
    """
    if logprobs is not None:  # they belong to tokens: text and logprobs stay together
        yield TextDelta(text, logprobs)
        yield from map(Cited, citations)
        return
    chunks = _LARGE if len(text) > _LONG else _CHUNK
    for passage, cited in passages(text, citations, start):
        for chunk in chunks.findall(passage):
            yield TextDelta(chunk)
        yield from map(Cited, cited)
