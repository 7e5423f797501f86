"""The OpenAI chat completions API, as OpenAI and most other hosts speak it."""

from gateway.upstream.providers.openai_chat.api import OpenAIChat

__all__ = ["OpenAIChat"]
