"""Lets a critic read several drafts side by side, for the one who makes an answer of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from techniques.core.request import Request
from techniques.parts.aside import Aside, Purpose
from techniques.parts.candidates import Candidate
from techniques.parts.structured import object_schema, read_object
from techniques.parts.synthesis import drafts_shown

_MOST: Final = 8


def remarks_request(aside: Aside, drafts: Sequence[Candidate]) -> Request:
    """Return the request that asks what is right and wrong in *drafts*."""
    shown = drafts_shown(drafts, aside.fence)
    return aside.request(_REMARKING, _TASK, aside.conversation(), *shown)


def read_remarks(text: str) -> str | None:
    """Return the remarks of a critic's reply, a line each; None if it is unusable."""
    remarks = (read_object(text) or {}).get("remarks")
    if not isinstance(remarks, list) or not all(isinstance(one, str) for one in remarks):
        return None
    return "\n".join(f"- {' '.join(one.split())}" for one in remarks[:_MOST] if one.strip())


_TASK: Final = """\
Several drafts of an answer to the last request of a conversation are given. Work the task out for \
yourself first. Then remark, in one short sentence each and by the letters of the drafts, where \
they contradict each other and which of them is right there, what any of them has wrong, and what \
only one of them has that the answer needs. Style is not worth a remark.
Reply with a JSON object only: {"remarks": ["...", ...]}, at most eight, the gravest first."""

_REMARKING: Final = Purpose(
    "critique",
    400,
    object_schema({"remarks": {"type": "array", "items": {"type": "string"}}}),
)
