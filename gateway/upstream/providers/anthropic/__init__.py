"""The Messages API of Anthropic, as it is spoken to a provider."""

from gateway.upstream.providers.anthropic.messages import Anthropic

__all__ = ["Anthropic"]
