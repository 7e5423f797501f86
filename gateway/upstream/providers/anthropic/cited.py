"""Sources that a model names, as this API has them."""

from __future__ import annotations

from typing import Final

from gateway.upstream.providers.anthropic.headers import DIALECT
from techniques.core.citation import Citation
from techniques.core.json import Json, JsonObject
from techniques.core.request import Opaque

_TITLES: Final = ("title", "document_title")
_WEB: Final = ("http://", "https://")


def citation_of(own: JsonObject, start: int, end: int) -> Citation:
    """Return the citation *own* of the characters from *start* to *end*.

    What is cited of a client's own documents has no address, of its search results it may have.
    """
    address = _string(own.get("url")) or _string(own.get("source"))
    title = next((text for name in _TITLES if (text := _string(own.get(name)))), "")
    return Citation(
        url=address if address.startswith(_WEB) else "",
        title=title,
        start=start,
        end=end,
        quote=_string(own.get("cited_text")),
        own=Opaque(DIALECT, own),
    )


def _string(value: Json) -> str:
    return value if isinstance(value, str) else ""
