"""The HTTP server's side of a connection, where uvicorn's own falls short.

A client that offers to upgrade to HTTP/2 (Java's does, on every plain connection) sends its body
all the same, and a server that does not upgrade has to read it (RFC 9110, section 7.8). The parser
stops at such a head, so the offer is taken out before it is read.
"""

from __future__ import annotations

import re
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_OFFER: Final = re.compile(rb"(?mi)^upgrade[ \t]*:")
_REFUSED: Final = b"x-upgrade-refused:"


class Protocol(HttpToolsProtocol):
    """uvicorn's protocol, deaf to offers of an upgrade."""

    def data_received(self, data: bytes) -> None:
        """Take bytes of requests.

        No body of a call is touched: a JSON text has no line that begins with a bare word.
        """
        if b"pgrade" in data or b"PGRADE" in data:
            data = _OFFER.sub(_REFUSED, data)
        super().data_received(data)
