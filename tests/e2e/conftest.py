"""One gateway a session, in front of a scripted upstream, and the official SDKs before it."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass

import anthropic
import openai
import pytest

from techniques.core.json import Json
from tests.fakes.gateway import KEYS, Gateway, hashed, settings
from tests.fakes.upstream import ScriptedUpstream, dead_port

CAGED_KEY = "lk-canary-three-1c0f"
CHANGES: dict[str, Json] = {
    "server": {"max_body": "256KiB"},
    "upstream": {"retries": 0, "breaker": 0, "first_byte_s": 3.0, "idle_s": 0.8},
    "providers": {"sim": {"dialect": "openai_chat", "simulated": {"seed": 7}}},
    "models": [
        {"name": "sim-small", "provider": "sim", "price": {"input": 0.1, "output": 0.4}},
        {"name": "sim-large", "provider": "sim", "price": {"input": 1, "output": 4}},
        {
            "name": "sim-embed",
            "provider": "sim",
            "price": {"input": 0.02, "output": 0},
            "capabilities": {"embeddings": True},
        },
        {"name": "org/embed", "provider": "oa"},
        {"name": "rs-embed", "provider": "rs", "model": "text-embedding-3-small"},
        *(
            {
                "name": f"oa-{name}",
                "provider": "oa",
                "model": f"real-{name}",
                "price": {"input": 0.02, "output": 0},
                "capabilities": {"embeddings": name != "chat"},
                "batch": {"inputs": 10},
            }
            for name in ("embed", "tight", "chat")
        ),
        {"name": "oa-hybrid", "provider": "oa", "model": "Qwen/Qwen3-8B"},
        {
            "name": "oa-gemini",
            "provider": "oa",
            "model": "gemini-3-pro-preview",
            "thinking_style": "gemini",
        },
        {"name": "oa-router", "provider": "oa", "model": "any", "thinking_style": "openrouter"},
        {"name": "an-adapts", "provider": "an", "model": "claude-opus-4-8"},
        {"name": "oa-steered", "provider": "oa", "model": "gpt-5.2", "thinking": "low"},
    ],
    "keys": [
        {
            "name": "k3",
            "hash": hashed(CAGED_KEY),
            "models": ["oa-model"],
            "techniques": ["none"],
        }
    ],
}


@pytest.fixture
def anyio_backend() -> str:
    """Real sockets need a real clock."""
    return "asyncio"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the end of the gateway's log with a failure."""
    report = yield
    scene = getattr(item, "funcargs", {}).get("scene")
    if report.failed and isinstance(scene, Scene):
        report.sections.append(("gateway", scene.gateway.log[-1200:]))
    return report


@dataclass(frozen=True, slots=True)
class Scene:
    """What a test acts on; the clients are synchronous and try once."""

    upstream: ScriptedUpstream
    gateway: Gateway
    chat: openai.OpenAI
    messages: anthropic.Anthropic

    @property
    def url(self) -> str:
        """Where the gateway listens."""
        return f"http://127.0.0.1:{self.gateway.port}"

    def async_chat(self) -> openai.AsyncOpenAI:
        """Return an asynchronous client; the test closes it."""
        return openai.AsyncOpenAI(base_url=f"{self.url}/v1", api_key=KEYS["k1"], max_retries=0)

    def async_messages(self) -> anthropic.AsyncAnthropic:
        """Return an asynchronous client; the test closes it."""
        return anthropic.AsyncAnthropic(base_url=self.url, api_key=KEYS["k1"], max_retries=0)


@pytest.fixture(scope="session")
def _scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    held, dead = dead_port()
    with held, ScriptedUpstream() as upstream:
        config = settings(upstream.port, dead, CHANGES)
        with Gateway(tmp_path_factory.mktemp("gateway"), config) as gateway:
            root = f"http://127.0.0.1:{gateway.port}"
            with (
                openai.OpenAI(base_url=f"{root}/v1", api_key=KEYS["k1"], max_retries=0) as chat,
                anthropic.Anthropic(base_url=root, api_key=KEYS["k1"], max_retries=0) as messages,
            ):
                yield Scene(upstream, gateway, chat, messages)


@pytest.fixture
def scene(_scene: Scene) -> Iterator[Scene]:
    _scene.upstream.forget()
    yield _scene
    assert _scene.upstream.unscripted == 0, "The gateway called more often than the test said."
