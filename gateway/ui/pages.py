"""``/ui``: the page and its files. They are the same for everyone and hold nothing secret.

The page runs its own files only, and talks to this gateway only: its policy says so.
"""

from __future__ import annotations

from hashlib import sha256
from importlib.resources import files
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

PAGE: Final = "page.html"
_KINDS: Final = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
_HEADERS: Final = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}


def page_routes() -> list[Route]:
    """Return the routes of the page and of its files."""
    found = {one.name: one for one in files(__package__).iterdir()}
    kinds = {name: _KINDS[end] for name in found if (end := name.rpartition(".")[2]) in _KINDS}
    return [
        Route("/ui" if name == PAGE else f"/ui/{name}", _File(found[name].read_bytes(), kind).serve)
        for name, kind in kinds.items()
    ]


class _File:
    """One file, which a browser asks for again only if it has changed."""

    def __init__(self, content: bytes, kind: str) -> None:
        self._content = content
        self._headers = {**_HEADERS, "content-type": kind}
        self._headers["etag"] = f'"{sha256(content).hexdigest()[:32]}"'

    def serve(self, request: Request) -> Response:
        """Serve the file, or say that the client has it."""
        known = request.headers.get("if-none-match", "")
        if self._headers["etag"] in (one.strip().removeprefix("W/") for one in known.split(",")):
            return Response(status_code=304, headers=self._headers)
        return Response(self._content, headers=self._headers)
