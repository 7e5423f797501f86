"""Sources that a model names, as this API has them."""

from __future__ import annotations

from gateway.upstream.openai.payload import as_index, as_object, as_text
from gateway.upstream.providers.openai_chat.payload import DIALECT
from techniques.core.citation import Citation
from techniques.core.json import JsonObject
from techniques.core.request import Opaque


def citation_of(own: JsonObject) -> Citation:
    """Return the citation that an annotation is; hosts have others than of addresses, too."""
    told = as_object(own.get(as_text(own.get("type"))))
    return Citation(
        url=as_text(told.get("url")),
        title=as_text(told.get("title")),
        start=as_index(told.get("start_index")) or 0,
        end=as_index(told.get("end_index")) or 0,
        quote=as_text(told.get("content")),  # OpenRouter's
        own=Opaque(DIALECT, own),
    )
