"""The dialects that are spoken, by their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gateway.wire.anthropic import AnthropicMessages
from gateway.wire.dialect import Dialect
from gateway.wire.openai_chat import OpenAIChat

CHAT: Final[Dialect] = OpenAIChat()
MESSAGES: Final[Dialect] = AnthropicMessages()
DIALECTS: Final[Mapping[str, Dialect]] = {one.name: one for one in (CHAT, MESSAGES)}
