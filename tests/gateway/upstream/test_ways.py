"""All that goes out goes by the proxy of the configuration, but for what is near."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import anyio
import pytest

from gateway.attention.webhooks import WebhookPolicy
from gateway.config import Config
from gateway.config.pricing import CatalogueConfig
from gateway.config.tracing import TracingConfig
from gateway.embedding import EmbeddingCalls
from gateway.fetching import fetched
from gateway.tracing import End, tracing
from gateway.upstream.ways import STRAIGHT, Ways, is_near, ways_of
from router_service.embedding.settings import EmbeddingSettings
from tests.fakes.proxy import FAR, proxying
from tests.gateway.attention.scene import Scene, person
from tests.gateway.attention.test_webhooks import receiving
from tests.gateway.metering.facts import request
from tests.gateway.test_tracing import TRACE

Goes: TypeAlias = Callable[[str, Ways, Path], Awaitable[None]]


@pytest.mark.parametrize(
    ("host", "near"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("::1", True),
        ("10.1.2.3", True),
        ("collector", True),
        ("corp.example", True),
        ("a.corp.example", True),
        ("notcorp.example", False),
        ("x.svc", True),
        ("8.8.8.8", False),
        ("8.8.4.4", True),
        ("9.9.9.200", True),
        ("api.openai.com", False),
        ("2001:4860:4860::8888", False),
    ],
)
def test_what_is_near_is_reached_straight(host: str, *, near: bool) -> None:
    named = ("Corp.example", ".svc", "*.internal.example", "8.8.4.4", "9.9.9.0/24")

    assert is_near(host, named) is near
    way = Ways("http://proxy:1", named).to(
        f"https://[{host}]:9/x" if ":" in host else f"https://{host}/x"
    )
    assert way == (None if near else "http://proxy:1")


def test_a_configuration_without_a_proxy_has_the_straight_way_alone() -> None:
    assert ways_of(Config().upstream) == STRAIGHT
    assert STRAIGHT.to("https://api.openai.com/v1") is None


async def catalogue(root: str, ways: Ways, folder: Path) -> None:
    stated = {"url": f"{root}/models", "cache": folder / "live.json"}
    await fetched(CatalogueConfig.model_validate(stated), ways)


async def webhook(root: str, ways: Ways, folder: Path) -> None:
    policy = WebhookPolicy(attempts=1, allow_private=True, ways=ways)
    scene = Scene((person(webhook=f"{root}/hook", secret="shared"),), policy=policy)
    await scene.ask("Deploy?")
    await scene.asking.tell()


async def embeddings(root: str, ways: Ways, folder: Path) -> None:
    stated = {"kind": "upstream", "url": root, "model": "m"}
    calls = EmbeddingCalls(EmbeddingSettings.model_validate(stated), ways)
    await calls(b"{}")
    await calls.close()


async def traces(root: str, ways: Ways, folder: Path) -> None:
    counted: Counter[End] = Counter()

    def count(end: End, number: int) -> None:
        counted[end] += number

    async with tracing(TracingConfig(otlp=root), count, ways) as made:
        (queue,) = made.readers
        queue([request(trace=TRACE, rows=())])
    assert counted["sent"]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("goes", [catalogue, webhook, embeddings, traces])
async def test_it_goes_by_the_proxy(goes: Goes, tmp_path: Path) -> None:
    async with receiving(200) as there, proxying() as proxy:
        address = f"{FAR}:{there.port}"
        with anyio.fail_after(10):
            await goes(f"http://{address}", Ways(f"http://{proxy.address}"), tmp_path)

    assert [head.split()[1] for head in proxy.asked] == [address.encode()]
    assert len(there.came) == 1


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("goes", [catalogue, webhook, traces])
async def test_what_is_near_goes_past_it(goes: Goes, tmp_path: Path) -> None:
    async with receiving(200) as there, proxying() as proxy:
        with anyio.fail_after(10):
            root = f"http://127.0.0.1:{there.port}"
            await goes(root, Ways(f"http://{proxy.address}"), tmp_path)

    assert proxy.asked == []
    assert len(there.came) == 1


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_one_that_is_shut_is_told_of(tmp_path: Path) -> None:
    async with proxying(b"HTTP/1.1 403 Forbidden\r\n\r\n") as proxy:
        url, ways = f"http://{FAR}/models", Ways(f"http://{proxy.address}")
        stated = {"url": url, "cache": tmp_path / "live.json"}
        told = await fetched(CatalogueConfig.model_validate(stated), ways)

    assert told is not None
    assert "(403)" in told
