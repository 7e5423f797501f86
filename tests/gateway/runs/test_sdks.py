"""The official SDKs, with the retries that they have by themselves, and a limit for a while.

The gateway is whole but for its sockets, and both it and the SDKs sleep by the same loop, whose
time passes at once.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import anthropic
import anyio
import httpx2
import openai
import pytest

from gateway.app import App
from gateway.config import Config, Secrets
from gateway.stores.memory import store
from gateway.wiring import Parts, running
from techniques.core.json import Json
from tests.fakes.hurried import HurriedLoop

ROOT = "http://localhost"
QUESTION: list[Json] = [{"role": "user", "content": "What is 6 * 7?"}]
DRAWS = {
    "x-lockgate-technique": "self_consistency",
    "x-lockgate-params": '{"num_samples": 2, "stop": "exact"}',
    "x-lockgate-on-limit": "suspend",
}
Told = list[httpx2.Response]


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    """Run on asyncio, as the gateway does."""
    return "asyncio", {"loop_factory": HurriedLoop}


def _config(window_s: float) -> Config:
    """Return a gateway with an account that takes one call each *window_s*."""
    provider = {
        "dialect": "openai_chat",
        "simulated": {"seed": 7},
        "limits": {"rpm": 1, "minute_s": window_s},
    }
    return Config.model_validate(
        {
            "providers": {"sim": provider},
            "models": [{"name": "sim-small", "provider": "sim"}],
            "database": {"url": "none"},
            "journal": {"durability": "memory"},
        }
    )


@asynccontextmanager
async def gateway(window_s: float) -> AsyncGenerator[tuple[httpx2.AsyncClient, Told, Parts], None]:
    """Run a gateway, and give the way to it, with what it answers on that, and its parts."""
    told: Told = []

    async def note(response: httpx2.Response) -> None:
        told.append(response)

    async with running(_config(window_s), Secrets(None, None)) as parts:

        @asynccontextmanager
        async def opened() -> AsyncGenerator[Parts, None]:
            yield parts

        app = App(opened)
        async with (
            app._running(app._lifespan),
            httpx2.AsyncClient(
                transport=httpx2.ASGITransport(app=app), event_hooks={"response": [note]}
            ) as http,
        ):
            yield http, told, parts


async def by_openai(http: httpx2.AsyncClient) -> str:
    asking = openai.AsyncOpenAI(base_url=f"{ROOT}/v1", api_key="none", http_client=http)
    answer = await asking.chat.completions.create(
        model="sim-small",
        messages=QUESTION,
        extra_headers=DRAWS,
    )
    return answer.choices[0].message.content or ""


async def by_openai_in_a_stream(http: httpx2.AsyncClient) -> str:
    asking = openai.AsyncOpenAI(base_url=f"{ROOT}/v1", api_key="none", http_client=http)
    stream = await asking.chat.completions.create(
        model="sim-small",
        messages=QUESTION,
        stream=True,
        extra_headers=DRAWS,
    )
    return "".join([c.choices[0].delta.content or "" async for c in stream if c.choices])


async def by_anthropic(http: httpx2.AsyncClient) -> str:
    asking = anthropic.AsyncAnthropic(base_url=ROOT, api_key="none", http_client=http)
    answer = await asking.messages.create(
        model="sim-small",
        max_tokens=200,
        messages=QUESTION,
        extra_headers=DRAWS,
    )
    return "".join(part.text for part in answer.content if part.type == "text")


@pytest.mark.parametrize(("window_s", "refusals"), [(2.0, 1), (90.0, 2)])
@pytest.mark.parametrize("ask", [by_openai, by_openai_in_a_stream, by_anthropic])
async def test_an_sdk_survives_a_suspension_with_no_more_than_its_own_retries(
    ask: Callable[[httpx2.AsyncClient], Awaitable[str]],
    window_s: float,
    refusals: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(store, "monotonic", anyio.current_time)  # of windows, too
    async with gateway(window_s) as (http, told, parts):
        began = anyio.current_time()

        text = await ask(http)

        waited_s = anyio.current_time() - began
        parts.spool.drain()
        names = [answer.headers["x-lockgate-request-id"] for answer in told]
        calls = [row for name in names for row in parts.rows.rows(name)]
    assert text
    assert [answer.status_code for answer in told] == [429] * refusals + [200]
    assert window_s - 1 < waited_s < window_s + 20
    assert told[0].headers["x-lockgate-run"] == told[-1].headers["x-lockgate-run"]
    assert len(calls) == 2, "the first draw was not made again"
