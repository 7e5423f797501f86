"""The Responses API of OpenAI, as it is spoken to a provider."""

from gateway.upstream.providers.openai_responses.api import OpenAIResponses

__all__ = ["OpenAIResponses"]
