"""The tables. Instants are microseconds since the epoch, money is picodollars, both exact.

A table that changes wants a step in ``migrations``: a test compares the two.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    text,
)

METADATA: Final = MetaData()

_STOPS: Final = text("state = 'cancelling'")

CHANGES: Final = Table(
    "changes",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("number", BigInteger, nullable=False),
    CheckConstraint("id = 1", name="one_row"),
)
"""One row: how often keys or budgets have changed. Who has read a number knows all until then."""

TEAMS: Final = Table(
    "teams",
    METADATA,
    Column("name", String, primary_key=True),
    Column("created_at", BigInteger, nullable=False),
)

KEYS: Final = Table(
    "keys",
    METADATA,
    Column("name", String, primary_key=True),
    Column("prefix", String, nullable=False),
    Column("hash", String, nullable=False, unique=True),
    Column("team", String),
    Column("models", String),
    Column("techniques", String),
    Column("priority", Integer, nullable=False),
    Column("weight", Float, nullable=False),
    Column("rpm", BigInteger),
    Column("tpm", BigInteger),
    Column("concurrency", BigInteger),
    Column("max_calls", BigInteger),
    Column("max_cost", BigInteger),
    Column("deadline_ms", BigInteger),
    Column("created_at", BigInteger, nullable=False),
    Column("revoked_at", BigInteger),
    Column("changed", BigInteger, nullable=False),
    Column("journal", String),
    Column("expires", BigInteger),
    Index("keys_changed", "changed"),
    Index("keys_team", "team"),
)
"""``models`` and ``techniques`` are lists in JSON; ``changed`` is the number of the last change."""

BUDGETS: Final = Table(
    "budgets",
    METADATA,
    Column("kind", String, primary_key=True),
    Column("owner", String, primary_key=True),
    Column("period", String, primary_key=True),
    Column("cap", BigInteger, nullable=False),
    Column("tz", String, nullable=False),
    CheckConstraint("kind IN ('key', 'team')", name="owner_kind"),
)

REQUESTS: Final = Table(
    "requests",
    METADATA,
    Column("request_id", String, primary_key=True),
    Column("run", String, nullable=False),
    Column("session", String),
    Column("tags", String),
    Column("key", String),
    Column("team", String),
    Column("dialect", String, nullable=False),
    Column("model", String, nullable=False),
    Column("technique", String, nullable=False),
    Column("outcome", String, nullable=False),
    Column("status", Integer, nullable=False),
    Column("warnings", String, nullable=False),
    Column("ended_at", BigInteger, nullable=False),
    Column("ms", Float, nullable=False),
    Column("arm", String),
    Column("router", String),
    Column("propensity", Float),
    Column("explored", Boolean),
    Column("lambda", Float),
    Column("code", String),
    Index("requests_ended_at", "ended_at"),
)
"""``arm`` to ``lambda`` tell of a router's choice; NULL where none was asked."""

LEDGER: Final = Table(
    "ledger",
    METADATA,
    Column("id", String, primary_key=True),
    Column("request_id", String, nullable=False),
    Column("run", String, nullable=False),
    Column("step", String, nullable=False),
    Column("role", String, nullable=False),
    Column("key", String),
    Column("team", String),
    Column("model", String, nullable=False),
    Column("provider", String, nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("cache_read_tokens", BigInteger, nullable=False),
    Column("cache_write_tokens", BigInteger, nullable=False),
    Column("reasoning_tokens", BigInteger, nullable=False),
    Column("cost", BigInteger),
    Column("cost_source", String, nullable=False),
    Column("estimated", Boolean, nullable=False),
    Column("reasoning_estimated", Boolean, nullable=False),
    Column("outcome", String, nullable=False),
    Column("started_at", BigInteger, nullable=False),
    Column("ms", Float, nullable=False),
    Column("technique", String, nullable=False, server_default=""),
    Column("session", String),
    Column("tags", String),
    Column("price", String),
    Column("caveats", String),
    Column("cache_write_1h_tokens", BigInteger, nullable=False, server_default="0"),
    Column("audio_input_tokens", BigInteger, nullable=False, server_default="0"),
    Column("audio_output_tokens", BigInteger, nullable=False, server_default="0"),
    Column("image_input_tokens", BigInteger, nullable=False, server_default="0"),
    Column("image_output_tokens", BigInteger, nullable=False, server_default="0"),
    Column("images", BigInteger, nullable=False, server_default="0"),
    Index("ledger_request", "request_id"),
    Index("ledger_run", "run"),
    Index("ledger_key_time", "key", "started_at", "cost"),
    Index("ledger_team_time", "team", "started_at", "cost"),
    Index("ledger_time", "started_at"),
    Index(
        "ledger_session",
        "session",
        sqlite_where=text("session IS NOT NULL"),
        postgresql_where=text("session IS NOT NULL"),
    ),
)
"""One row a sub-call. The indexes by key and by team hold all that a sum over a period needs.

What has a default there was added later: an older replica goes on writing without it.
"""

RUNS: Final = Table(
    "runs",
    METADATA,
    Column("owner", String, primary_key=True),
    Column("run", String, primary_key=True),
    Column("body", String, nullable=False),
    Column("session", String),
    Column("state", String, nullable=False),
    Column("background", Integer, nullable=False),
    Column("token", BigInteger, nullable=False),
    Column("until_ms", BigInteger, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("written_ms", BigInteger, nullable=False),
    Column("record", String, nullable=False),
    Column("standing", String, nullable=False),
    Index("runs_body", "owner", "body"),
    Index("runs_session", "owner", "session"),
    Index("runs_written", "written_ms"),
    Index("runs_state", "state", "background"),
)
"""Runs: who has claimed one until when (milliseconds of the epoch), and JSON of what it is."""

STEPS: Final = Table(
    "steps",
    METADATA,
    Column("owner", String, primary_key=True),
    Column("run", String, primary_key=True),
    Column("path", String, primary_key=True),
    Column("record", String, nullable=False),
)
"""The sub-calls of runs, each as JSON."""

RESPONSES: Final = Table(
    "responses",
    METADATA,
    Column("owner", String, primary_key=True),
    Column("id", String, primary_key=True),
    Column("parent", String),
    Column("state", String, nullable=False),
    Column("background", Integer, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("used_ms", BigInteger, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("record", String, nullable=False),
    Index("responses_used", "used_ms"),
    Index("responses_owner", "owner", "created_ms"),
    Index("responses_state", "state", sqlite_where=_STOPS, postgresql_where=_STOPS),
)
"""Responses that clients can come back to: ``record`` is JSON of one and of its own input.

``parent`` is the response that it goes on with, ``size`` the length of ``record``.
"""

RESPONSE_ITEMS: Final = Table(
    "response_items",
    METADATA,
    Column("owner", String, primary_key=True),
    Column("item", String, primary_key=True),
    Column("response", String, nullable=False),
    Index("response_items_of", "owner", "response"),
)
"""In which response an item stands to which a client may refer."""

APPROVALS: Final = Table(
    "approvals",
    METADATA,
    Column("id", String, primary_key=True),
    Column("hash", String, nullable=False),
    Column("tenant", String, nullable=False),
    Column("key", String),
    Column("person", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("question", String, nullable=False),
    Column("detail", String, nullable=False),
    Column("options", String, nullable=False),
    Column("urgent", Boolean, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("state", String, nullable=False),
    Column("ask", String),
    Column("asked_at", BigInteger),
    Column("decided_at", BigInteger),
    Column("option", String),
    Column("note", String),
    Index("approvals_state", "state", "hash"),
    Index("approvals_person", "person", "created_at"),
    Index("approvals_tenant", "tenant", "created_at"),
)
"""Questions to people. ``options`` are a list in JSON, ``ask`` is the ask that it was a part of."""

ASKS: Final = Table(
    "asks",
    METADATA,
    Column("id", String, primary_key=True),
    Column("person", String, nullable=False),
    Column("asked_at", BigInteger, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("due_at", BigInteger),
    Column("delivered_at", BigInteger),
    Index("asks_person", "person", "asked_at"),
    Index("asks_due", "due_at"),
)
"""Each time that a person was asked; ``due_at`` is when their webhook is to be told next."""

ABSENCES: Final = Table(
    "absences",
    METADATA,
    Column("person", String, primary_key=True),
    Column("since", BigInteger, nullable=False),
    Column("until", BigInteger),
)
"""Who is away; without ``until`` nobody knows for how long."""
