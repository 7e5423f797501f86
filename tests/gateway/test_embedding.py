from __future__ import annotations

import json

import pytest

from gateway.embedding import EmbeddingCalls
from router_service.embedding.encoders import encoder_of
from router_service.embedding.settings import EmbeddingSettings
from router_service.embedding.unusable import Unembedded
from tests.gateway.test_fetching import Serving, serving


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # as the transport wants it


def settings(port: int, **stated: object) -> EmbeddingSettings:
    told = {"kind": "upstream", "url": f"http://127.0.0.1:{port}/v1/", "model": "m", **stated}
    return EmbeddingSettings.model_validate({"api_key": "sk-x", "allow_private": True, **told})


async def test_a_text_is_embedded_by_the_configured_address() -> None:
    page = Serving(json.dumps({"data": [{"embedding": [0.0, 5.0]}]}).encode())
    async with serving(page):
        stated = settings(page.port)
        calls = EmbeddingCalls(stated)
        vector = await encoder_of(stated, calls).encode("hello")
        await calls.close()
    assert page.asked == ["POST /v1/embeddings HTTP/1.1"]
    assert vector is not None
    assert vector.values == (0.0, 1.0)


@pytest.mark.parametrize("status", ["302 Found", "401 Unauthorized", "500 Internal Server Error"])
async def test_what_is_no_success_is_none_and_no_redirect_is_followed(status: str) -> None:
    page = Serving(b"{}", status=status)
    async with serving(page):
        calls = EmbeddingCalls(settings(page.port))
        with pytest.raises(Unembedded, match=status[:3]):
            await calls(b"{}")
        await calls.close()
    assert len(page.asked) == 1


async def test_an_answer_without_end_is_not_read() -> None:
    page = Serving(b" " * (2**20 + 1))
    async with serving(page):
        calls = EmbeddingCalls(settings(page.port))
        with pytest.raises(Unembedded, match="no end"):
            await calls(b"{}")
        await calls.close()


async def test_a_private_address_is_not_called_unless_that_is_allowed() -> None:
    page = Serving(b"{}")
    async with serving(page):
        calls = EmbeddingCalls(settings(page.port, allow_private=False))
        with pytest.raises(Unembedded):
            await calls(b"{}")
        await calls.close()
    assert not page.asked
