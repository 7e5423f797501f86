"""Sources that a model names, as clients of this dialect know them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from techniques.core.citation import Citation, passages
from techniques.core.json import Json, JsonObject

_NAME: Final = "anthropic"


def citation_of(citation: Citation) -> Json:
    """Return *citation* as one of a block of text, None if there is none for it.

    Of a source that another provider found there is nothing that Anthropic would find it by: a
    provider of its own is not told of such a one when a client sends it back.
    """
    own = citation.own
    if own is not None and own.dialect == _NAME:
        return own.value
    if not citation.url:
        return None
    return {
        "type": "web_search_result_location",
        "url": citation.url,
        "title": citation.title or None,
        "cited_text": citation.quote,
        "encrypted_index": "",
    }


def blocks_of(text: str, citations: Sequence[Citation], said: int) -> list[JsonObject]:
    """Return *text*, before which so many characters were *said*, in blocks, each of its sources.

    A source stands with the block that it is of.
    """
    blocks: list[JsonObject] = []
    told = [one for one in citations if citation_of(one)]
    for passage, cited in passages(text, told, said):
        block: JsonObject = {"type": "text", "text": passage}
        if cited:
            block["citations"] = list(map(citation_of, cited))
        blocks.append(block)
    return blocks
