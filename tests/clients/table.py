"""The clients, what they speak, and what each is asked to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

USUAL: Final = frozenset({"whole", "stream", "tools", "structured", "image", "failing", "wishing"})


@dataclass(frozen=True, slots=True)
class Client:
    """A client program, the environment that it runs in, and the APIs that it is for."""

    program: str
    environment: str
    surfaces: tuple[str, ...]
    operations: frozenset[str]


_AGENT: Final = USUAL | {"tools_streamed", "reasoning"}
_OPENAI: Final = USUAL | {"tools_streamed", "retried", "listed", "embed"}
_ANTHROPIC: Final = (_OPENAI - {"embed"}) | {"runner", "reasoning", "counted"}
_OLLAMA: Final = (USUAL - {"failing"}) | {"reasoning", "embed"}
_INSTRUCTOR: Final = frozenset({"structured", "as_json", "partial", "again"})
_BOTH: Final = ("chat", "messages")
_ALL: Final = (*_BOTH, "responses")
_RESPONSES: Final = _AGENT | {"retried"}
_VERCEL: Final = ("chat", "compatible", "messages", "responses")
CLIENTS: Final[Mapping[str, Client]] = {
    "openai-python": Client("openai_sdk", "frameworks", ("chat",), _OPENAI),
    "responses-python": Client("responses_sdk", "frameworks", ("responses",), _RESPONSES),
    "responses-python-2": Client("responses_sdk", "older", ("responses",), _RESPONSES),
    "responses-node": Client("responses", "node", ("responses",), _RESPONSES),
    "openai-python-2": Client("openai_sdk", "older", ("chat",), _OPENAI),
    "openai-node": Client("openai", "node", ("chat",), _OPENAI),
    "anthropic-python": Client("anthropic_sdk", "frameworks", ("messages",), _ANTHROPIC),
    "anthropic-python-0": Client("anthropic_sdk", "older", ("messages",), _ANTHROPIC),
    "anthropic-node": Client("anthropic", "node", ("messages",), _ANTHROPIC),
    "vercel": Client("vercel", "node", _VERCEL, _AGENT | {"retried", "embed"}),
    "langchain": Client("langchain", "frameworks", _ALL, USUAL | {"graph", "reasoning", "embed"}),
    "langchain-node": Client("langchain", "node", _ALL, USUAL | {"embed"}),
    "pydantic-ai": Client("pydantic_ai_agent", "frameworks", _ALL, _AGENT),
    "openai-agents": Client(
        "openai_agents", "frameworks", ("chat", "responses"), _AGENT | {"handoff"}
    ),
    "instructor": Client("instructor_client", "older", _BOTH, _INSTRUCTOR),
    "ollama-python": Client("ollama_sdk", "frameworks", ("ollama",), _OLLAMA),
    "ollama-node": Client("ollama", "node", ("ollama",), _OLLAMA),
    "llama-index": Client("llama_index", "older", ("chat",), USUAL),
}


def who(operation: str) -> list[str]:
    """Return the clients that carry out *operation*, each with each of its APIs."""
    return [
        f"{name}/{surface}"
        for name, client in CLIENTS.items()
        if operation in client.operations
        for surface in client.surfaces
    ]
