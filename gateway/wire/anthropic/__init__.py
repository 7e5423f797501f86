"""The Messages API of Anthropic, as clients speak it."""

from gateway.wire.anthropic.messages import AnthropicMessages

__all__ = ["AnthropicMessages"]
