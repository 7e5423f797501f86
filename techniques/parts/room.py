"""More room for a model that used up all it had before it said anything.

That happens to models that think: their reasoning counts against the limit of the output.
"""

from __future__ import annotations

from dataclasses import replace

from techniques.core.reply import Reply
from techniques.core.request import Request
from techniques.parts.checks import says_anything


def wider(request: Request, reply: Reply) -> Request | None:
    """Return *request* with twice the room, None if its *reply* did not end for want of it.

    Where no limit was set, that of the provider was met: its size is what the reply used.
    """
    if reply.finish_reason != "length" or says_anything(reply):
        return None
    used = reply.usage.output_tokens if reply.usage else 0
    limit = request.sampling.max_output_tokens or used
    if not limit:
        return None
    thinking = request.thinking
    if thinking is not None and thinking.budget_tokens is not None:
        thinking = replace(thinking, budget_tokens=2 * thinking.budget_tokens)
    sampling = replace(request.sampling, max_output_tokens=2 * limit)
    return replace(request, sampling=sampling, thinking=thinking, step=f"{request.step}m")
