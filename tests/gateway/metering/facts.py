"""Facts to meter."""

from __future__ import annotations

from typing import Any

from gateway.metering.ledger import CallFinished, RequestFinished
from pricing.usage import Usage


def row(**changes: Any) -> CallFinished:
    """Return a call that went well, with *changes*."""
    usual = CallFinished(
        model="fast",
        provider="oa",
        role="answer",
        step="0",
        usage=Usage(10, 5),
        estimated=False,
        cost=1000,
        cost_source="operator",
        outcome="ok",
        started_at=1_764_000_000.5,
        seconds=0.25,
        first_s=0.1,
    )
    return usual._replace(**changes)


def request(**changes: Any) -> RequestFinished:
    """Return a request that went well, with *changes*."""
    usual = RequestFinished(
        request_id="r1",
        run="r1",
        session=None,
        tags=None,
        key="team",
        dialect="openai_chat",
        model="fast",
        provider="oa",
        technique="none",
        streamed=False,
        outcome="success",
        status=200,
        rows=(row(),),
        warnings=(),
        seconds=0.3,
        begun_s=0.1,
        decode_s=0.0002,
        plan_s=0.0001,
        cancel_s=None,
    )
    return usual._replace(**changes)
