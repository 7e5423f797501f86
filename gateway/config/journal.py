"""What a configuration says of runs that survive: where they are kept, and for how long."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gateway.config.values import Seconds
from router_service.groundwork.encryption import StatedKeys, keys_of
from router_service.groundwork.section import Section


class JournalConfig(Section):
    """Where the sub-calls of runs are written down, so that none is paid for twice.

    ``database`` (without one: ``memory``) and ``redis`` are shared by replicas; ``off``: no run can
    go on once it has broken off. A run whose replica says nothing for ``lease_s`` is free to be
    taken over. Calls under way have ``linger_s`` to end when their client has left and is sure to
    come back. ``ambiguous`` is what is done about a call that was sent by a replica that is gone:
    made again, its run stopped until somebody says so, or its run failed. Who is asked is
    ``person``, else the first of ``attention.persons``. ``resume_stream: prefill`` has a model
    whose streamed answer broke off go on with it, where it can (``capabilities.prefill``);
    otherwise such an answer is asked for anew. With ``encryption``, a key or several, prompts and
    answers are kept so that only who has the key reads them: the first is the one to encrypt with,
    the others are older.
    """

    durability: Literal["database", "redis", "memory", "off"] = "database"
    retention: Seconds = Field(86_400.0, gt=0)
    lease_s: Seconds = Field(15.0, ge=0.5, le=300)
    linger_s: Seconds = Field(30.0, ge=0)
    attach_s: Seconds = Field(55.0, ge=0)
    ambiguous: Literal["retry", "ask", "fail"] = "retry"
    resume_stream: Literal["redo", "prefill"] = "redo"
    person: str | None = None
    encryption: StatedKeys = None

    @property
    def keys(self) -> tuple[bytes, ...]:
        """The keys of ``encryption``, none without it."""
        return keys_of(self.encryption)
