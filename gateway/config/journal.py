"""What a configuration says of runs that survive: where they are kept, and for how long."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gateway.config.section import Section
from gateway.config.values import Seconds


class JournalConfig(Section):
    """Where the sub-calls of runs are written down, so that none is paid for twice.

    ``database`` (without one: ``memory``) and ``redis`` are shared by replicas; ``off``: no run can
    go on once it has broken off. A run whose replica says nothing for ``lease_s`` is free to be
    taken over. Calls under way have ``linger_s`` to end when their client has left and is sure to
    come back. ``ambiguous`` is what is done about a call that was sent by a replica that is gone:
    made again, its run stopped until somebody says so, or its run failed. ``resume_stream:
    prefill`` has a model whose streamed answer broke off go on with it, where it can
    (``capabilities.prefill``); otherwise such an answer is asked for anew.
    """

    durability: Literal["database", "redis", "memory", "off"] = "database"
    retention: Seconds = Field(86_400.0, gt=0)
    lease_s: Seconds = Field(15.0, ge=0.5, le=300)
    linger_s: Seconds = Field(30.0, ge=0)
    attach_s: Seconds = Field(55.0, ge=0)
    ambiguous: Literal["retry", "ask", "fail"] = "retry"
    resume_stream: Literal["redo", "prefill"] = "redo"
