"""The tables. Instants are microseconds since the epoch.

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
    LargeBinary,
    MetaData,
    String,
    Table,
)

METADATA: Final = MetaData()

CHANGES: Final = Table(
    "router_changes",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("revision", BigInteger, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    CheckConstraint("id = 1", name="router_one_row"),
)
"""One row: the last revision, and how often rows were deleted.

Who writes locks it first: so revisions come to be seen in their order, and no reader misses one.
"""

OBSERVATIONS: Final = Table(
    "router_observations",
    METADATA,
    Column("id", String, primary_key=True),
    Column("revision", BigInteger, nullable=False),
    Column("request_id", String, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("caller", String, nullable=False),
    Column("model", String, nullable=False),
    Column("arm", String, nullable=False),
    Column("encoder", String, nullable=False),
    Column("vector", LargeBinary),
    Column("sealed", String, nullable=False),
    Column("features", String, nullable=False),
    Column("pool", String, nullable=False),
    Column("params_hash", String, nullable=False),
    Column("propensity", Float, nullable=False),
    Column("explored", Boolean, nullable=False),
    Column("counterfactual", Boolean, nullable=False),
    Column("quality", Float),
    Column("plain_quality", Float),
    Column("source", String, nullable=False),
    Column("reliability", Float, nullable=False),
    Column("repeats", BigInteger, nullable=False),
    Column("spread", Float),
    Column("cost_usd", Float),
    Column("cost", Float),
    Column("calls", BigInteger, nullable=False),
    Column("latency_ms", Float),
    Column("first_token_ms", Float),
    Column("outcome", String, nullable=False),
    Index("router_observations_revision", "revision", unique=True),
    Index("router_observations_request", "request_id"),
    Index("router_observations_caller", "caller"),
    Index("router_observations_at", "at"),
)
"""No text of a prompt is among it. ``vector`` are numbers of 16 bits, the lowest byte first;
``sealed`` names the key that they are encrypted with, "" if they are not. ``features`` and ``pool``
are JSON.
"""

FITS: Final = Table(
    "router_fits",
    METADATA,
    Column("revision", BigInteger, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("router", String, nullable=False),
    Column("by", String, nullable=False),
    Column("report", String, nullable=False),
    Column("found", String, nullable=False),
    Column("checksum", String, nullable=False),
    Column("withdrawn_at", BigInteger),
    Column("withdrawn_by", String, nullable=False),
)
"""What was found by fits and is, or was, served: the last of a router that is not withdrawn.

``found`` is JSON, and ``checksum`` its SHA-256 in hex; so is ``report``, what was told of it.
"""
