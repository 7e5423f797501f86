"""The dialects that are spoken, by their names, and what is told in them of what failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from starlette.responses import Response

from gateway.wire.anthropic import AnthropicMessages
from gateway.wire.dialect import Dialect
from gateway.wire.ollama import OllamaChat, OllamaEmbed, OllamaEmbeddings, OllamaGenerate
from gateway.wire.openai_chat import OpenAIChat
from gateway.wire.openai_completions import OpenAICompletions
from gateway.wire.openai_embeddings import OpenAIEmbeddings
from gateway.wire.openai_responses import OpenAIResponses
from techniques.core.errors import GatewayError

CHAT: Final[Dialect] = OpenAIChat()
MESSAGES: Final[Dialect] = AnthropicMessages()
RESPONSES: Final[Dialect] = OpenAIResponses()
EMBEDDINGS: Final[Dialect] = OpenAIEmbeddings()
COMPLETIONS: Final[Dialect] = OpenAICompletions()
OLLAMA: Final[Dialect] = OllamaChat()
OLLAMA_GENERATE: Final[Dialect] = OllamaGenerate()
OLLAMA_EMBED: Final[Dialect] = OllamaEmbed()
OLLAMA_EMBEDDINGS: Final[Dialect] = OllamaEmbeddings()
DIALECTS: Final[Mapping[str, Dialect]] = {
    one.name: one for one in (CHAT, MESSAGES, RESPONSES, OLLAMA, OLLAMA_GENERATE)
}


def dialect_of(headers: Mapping[str, str]) -> Dialect:
    """Return the dialect of who asks with *headers* where the path does not tell it."""
    return MESSAGES if "anthropic-version" in headers else CHAT


def failed(error: GatewayError, dialect: Dialect, request_id: str = "") -> Response:
    """Return *error* as a response in *dialect*, to the request of that name."""
    failure = dialect.failure(error).named(request_id)
    return Response(failure.body, failure.status, dict(failure.headers), "application/json")
