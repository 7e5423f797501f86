"""A call of this dialect, and what there may be to tell of its answer."""

from __future__ import annotations

from gateway.wire.anthropic import AnthropicMessages
from gateway.wire.dialect import Call, Summary
from pricing.usage import Usage
from techniques.core.request import Relay, Request

DIALECT = AnthropicMessages()
CALL = Call("anthropic", "m", True, Relay("anthropic", b"", {}, lambda: Request("m")))  # noqa: FBT003
BARE = Summary(Usage(7, 3), 1, None, "none")
TRACED = Summary(Usage(700, 300, 90), 5, "0.0123", "list", {"calls": 5, "route": "a→b"})
USED = Usage(
    input_tokens=1731,
    output_tokens=88,
    cache_read_tokens=1200,
    cache_write_tokens=380,
    cache_write_1h_tokens=120,
)
BLOCK = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"q": "x"}}
