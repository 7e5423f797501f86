"""The OpenAI chat completions API, as clients speak it to us."""

from gateway.wire.openai_chat.dialect import OpenAIChat

__all__ = ["OpenAIChat"]
