"""The Responses API of OpenAI, as clients speak it to us."""

from gateway.wire.openai_responses.dialect import OpenAIResponses

__all__ = ["OpenAIResponses"]
