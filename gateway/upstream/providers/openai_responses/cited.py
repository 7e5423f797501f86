"""Sources that a model names, as this API has them."""

from __future__ import annotations

from gateway.upstream.openai.payload import as_index, as_text
from gateway.upstream.providers.openai_responses.names import DIALECT
from techniques.core.citation import Citation
from techniques.core.json import JsonObject
from techniques.core.request import Opaque


def citation_of(own: JsonObject, before: int) -> Citation:
    """Return the citation that an annotation is of a text with so many characters *before* it.

    What is cited of a file has no address, and may stand at one place only.
    """
    start = as_index(own.get("start_index", own.get("index"))) or 0
    end = as_index(own.get("end_index")) or start
    return Citation(
        url=as_text(own.get("url")),
        title=as_text(own.get("title")) or as_text(own.get("filename")),
        start=before + start,
        end=before + end,
        own=Opaque(DIALECT, own),
    )
