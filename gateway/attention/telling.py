"""How questions, and whether people can be asked, are told in JSON."""

from __future__ import annotations

from datetime import UTC, datetime

from gateway.attention.attending import Go, Hold, Suspend, Verdict
from gateway.attention.questions import SECOND, Approval
from techniques.core.json import JsonObject


def told(approval: Approval) -> JsonObject:
    """Return a question as whoever it concerns may see it."""
    decided = approval.state in {"approved", "rejected"}
    return {
        "id": approval.id,
        "state": approval.state,
        "kind": approval.kind,
        "person": approval.person,
        "question": approval.question,
        "detail": approval.detail,
        "options": list(approval.options),
        "urgency": "urgent" if approval.urgent else "normal",
        "asked_by": approval.key,
        "hash": approval.hash,
        "created_at": instant_of(approval.created_at),
        "expires_at": instant_of(approval.expires_at),
        "asked_at": instant_of(approval.asked_at),
        "ended_at": instant_of(approval.decided_at),
        "decided_by": approval.person if decided else None,
        "option": approval.option,
        "note": approval.note,
    }


def told_verdict(verdict: Verdict) -> JsonObject:
    """Return whether a person can be asked: ``go``, ``hold`` until a time, or ``suspend``."""
    match verdict:
        case Go(left):
            return {"ask": "go", "until": None, "left": left}
        case Hold(until):
            return {"ask": "hold", "until": instant_of(until), "left": 0}
        case Suspend():
            return {"ask": "suspend", "until": None, "left": 0}


def instant_of(at: int | None) -> str | None:
    """Return an instant of microseconds since the epoch, as ISO 8601 has it."""
    if at is None:
        return None
    return datetime.fromtimestamp(at / SECOND, UTC).isoformat().replace("+00:00", "Z")
