"""Carries the calls of an upstream encoder by the driver that talks to providers."""

from __future__ import annotations

from time import monotonic
from typing import Final

from gateway.upstream.pool import Endpoint, PooledTransport
from gateway.upstream.provider import HttpCall
from gateway.upstream.ways import STRAIGHT, Ways
from router_service.embedding.settings import EmbeddingSettings
from router_service.embedding.unusable import Unembedded
from techniques.core.errors import UpstreamFailed

_PATH: Final = "/embeddings"
_MOST: Final = 2**20
_OK: Final = 200


class EmbeddingCalls:
    """Posts to the address of *settings*, as to a provider: redirects are not followed.

    *ways* lead to it, unless it may be private: then the way is straight.
    """

    def __init__(self, settings: EmbeddingSettings, ways: Ways = STRAIGHT) -> None:
        key = settings.api_key
        headers = {} if key is None else {"authorization": f"Bearer {key.get_secret_value()}"}
        self._within_s = settings.timeout_s
        self._transport = PooledTransport(
            Endpoint(
                settings.url.rstrip("/"),
                {"content-type": "application/json", **headers},
                settings.timeout_s,
                allow_private=settings.allow_private,
                proxy=None if settings.allow_private else ways.to(settings.url),
            )
        )

    async def __call__(self, body: bytes) -> bytes:
        """Return the body of the answer to *body*; see ``Post``."""
        try:
            answer = await self._transport.post(
                HttpCall(_PATH, body, {}), monotonic() + self._within_s
            )
            try:
                if answer.status != _OK:
                    raise Unembedded(f"HTTP {answer.status}")
                whole = bytearray()
                while chunk := await answer.read():
                    whole += chunk
                    if len(whole) > _MOST:
                        raise Unembedded("the answer has no end")
            finally:
                answer.close()
        except UpstreamFailed as error:
            raise Unembedded(error.message) from error
        return bytes(whole)

    async def close(self) -> None:
        """Close its connections."""
        await self._transport.close()
