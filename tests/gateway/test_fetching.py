from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import anyio
import pytest
from anyio.abc import SocketStream

from gateway.clock import utc_now
from gateway.config.pricing import CatalogueConfig, PricingConfig, book_of
from gateway.fetching import fetched
from pricing.book import Wanted
from techniques.core.groups import task_group

RATES = {"prompt": "0.000009", "completion": "0.000009"}
CATALOGUE = json.dumps({"data": [{"id": "openai/gpt-4o-mini", "pricing": RATES}]})


@dataclass
class Serving:
    """A server of one page; it notes what was asked for."""

    body: bytes = CATALOGUE.encode()
    status: str = "200 OK"
    port: int = 0
    asked: list[str] = field(default_factory=list)

    async def answer(self, stream: SocketStream) -> None:
        async with stream:
            head = await stream.receive()
            self.asked.append(head.split(b"\r\n")[0].decode())
            size = b"content-length: %d\r\n" % len(self.body)
            top = f"HTTP/1.1 {self.status}\r\nconnection: close\r\n".encode()
            await stream.send(top + size + b"\r\n" + self.body)


@asynccontextmanager
async def serving(page: Serving) -> AsyncGenerator[Serving, None]:
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    page.port = listener.extra(anyio.abc.SocketAttribute.local_port)
    async with task_group() as group:
        group.start_soon(listener.serve, page.answer)
        yield page
        group.cancel_scope.cancel()
    await listener.aclose()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # as the transport wants it


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "live.json"


def stated(port: int, cache: Path) -> CatalogueConfig:
    url = f"http://127.0.0.1:{port}/api/v1/models?all=1"
    return CatalogueConfig.model_validate({"url": url, "cache": cache})


def age(cache: Path, *, days: int) -> None:
    then = utc_now().timestamp() - days * 86_400
    os.utime(cache, (then, then))


def keep(cache: Path) -> None:
    cache.write_text(CATALOGUE)
    age(cache, days=8)


def name(cache: Path) -> str:
    pricing = PricingConfig.model_validate({"catalogue": {"file": cache}})
    price = book_of(pricing).price(Wanted("openai", "gpt-4o-mini"), date(2026, 11, 30))
    assert price is not None
    return price.name


async def test_a_catalogue_is_fetched_and_kept_with_its_day(cache: Path) -> None:
    async with serving(Serving()) as page:
        assert await fetched(stated(page.port, cache)) is None
        assert await fetched(stated(page.port, cache)) is None

    assert page.asked == ["GET /api/v1/models?all=1 HTTP/1.1"]
    assert name(cache) == f"openrouter {utc_now().date()}:openai/gpt-4o-mini"
    assert [file.name for file in cache.parent.iterdir()] == [cache.name]


async def test_an_old_catalogue_is_fetched_again(cache: Path) -> None:
    async with serving(Serving()) as page:
        await fetched(stated(page.port, cache))
        age(cache, days=8)

        assert await fetched(stated(page.port, cache)) is None

        assert await fetched(stated(page.port, cache)) is None

    assert len(page.asked) == 2


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (Serving(status="503 Down"), "HTTP 503"),
        (Serving(status="302 Found"), "HTTP 302"),
        (Serving(b"<html>"), "Expecting value"),
        (Serving(b"\xff"), "utf-8"),
        (Serving(b'{"data": []}'), "no priced model"),
    ],
    ids=["down", "moved", "no json", "no text", "empty"],
)
async def test_what_could_not_be_fetched_is_a_warning_and_what_was_kept_holds(
    page: Serving, said: str, cache: Path
) -> None:
    async with serving(page):
        first = await fetched(stated(page.port, cache))
        keep(cache)
        second = await fetched(stated(page.port, cache))

    assert first is not None
    assert said in first
    assert "127.0.0.1, and there is none: " in first
    assert second is not None
    assert f"that of {cache} goes on to hold" in second
    assert name(cache) == "live:openai/gpt-4o-mini"


async def test_nobody_answers_and_that_is_a_warning_too(cache: Path) -> None:
    async with serving(Serving()) as page:
        port = page.port

    told = await fetched(stated(port, cache))

    assert told is not None
    assert told.startswith("pricing.catalogue: none could be had from 127.0.0.1")


async def test_a_folder_that_cannot_be_written_is_a_warning(tmp_path: Path) -> None:
    async with serving(Serving()) as page:
        told = await fetched(stated(page.port, tmp_path / "none" / "live.json"))

    assert told is not None
    assert "No such file" in told


async def test_nothing_is_fetched_that_nobody_asked_for(cache: Path) -> None:
    file = CatalogueConfig.model_validate({"file": cache})

    assert await fetched(None) is None
    assert await fetched(file) is None
