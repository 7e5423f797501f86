"""Responses to keep."""

from __future__ import annotations

from typing import Any

from gateway.stores.responses.records import Cover, Response, ResponseName, State
from gateway.stores.responses.table import Row, Written

AT = 1_764_000_000_000


def row(number: int, parent: int | None = None, **fields: Any) -> Row:
    """Return the response with that number; a field that is not said is that of an ordinary one."""
    usual = Row(
        "k1",
        f"resp_{number}",
        None if parent is None else f"resp_{parent}",
        state="completed",
        background=0,
        created_ms=AT + number,
        used_ms=AT + number,
        size=10,
        record="[{},[]]",
    )
    return usual._replace(**fields)


def written(*rows: Row) -> list[Written]:
    """Return *rows* to be written, each with one item of its number."""
    return [Written(one, (f"msg_{one.id.removeprefix('resp_')}",)) for one in rows]


def response(number: int = 1, state: State = "completed", words: str = "Hello.") -> Response:
    """Return a response that says *words*."""
    name = ResponseName("k1", f"resp_{number}")
    item = {"id": f"msg_{number}", "type": "message", "content": [{"text": words}]}
    told = {"id": name.id, "object": "response", "status": state, "output": [item]}
    return Response(name, None, state, AT, told, ({"id": "in_1", "type": "message"},))


OPEN = Cover()
SEALED = Cover([b"\x01" * 32])
