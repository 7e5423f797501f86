"""What is asked beside an answer to find its errors: before it is seen, of it, and of them all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from techniques.core.json import Json
from techniques.core.reply import Reply
from techniques.core.request import Request
from techniques.parts.aside import Aside, Purpose
from techniques.parts.critique import Finding
from techniques.parts.structured import object_schema, read_object
from techniques.parts.transcript import answer_shown

_MOST_READ: Final = 20  # conflicts

BLIND: Final = (
    "\n\nWork this out from the ground up, one step after another, and check each step before you "
    "go on.",
    "\n\nWork this out in another way than the first that comes to mind, and see where that leads.",
)
"""What is added to a question to have it answered again by who has not seen the answer."""


def check_request(aside: Aside, reply: Reply) -> Request:
    """Return the request to check *reply*, and to say what it should conclude."""
    answer = aside.fence.around("answer", answer_shown(reply))
    return aside.request(_CHECKING, _CHECK, aside.conversation(), answer)


def doubt_request(aside: Aside, reply: Reply) -> Request:
    """Return the request to say of each claim of *reply* how sure it is."""
    answer = aside.fence.around("answer", answer_shown(reply))
    return aside.request(_DOUBTING, _DOUBT, aside.conversation(), answer)


def read_result(text: str) -> str | None:
    """Return what a check says that the answer should conclude, None if it does not say."""
    result = (read_object(text) or {}).get("result")
    return result if isinstance(result, str) and result.strip() else None


def syndrome_request(aside: Aside, main: Reply, parities: Sequence[str]) -> Request:
    """Return the request for the places where *parities* contradict the answer *main*."""
    answer = aside.fence.around("answer", answer_shown(main))
    shown = (
        aside.fence.around(f"check {place}", parity) for place, parity in enumerate(parities, 1)
    )
    return aside.request(_COMPARING, _COMPARE, aside.conversation(), answer, *shown)


def read_conflicts(text: str, parities: Sequence[str]) -> list[Finding] | None:
    """Return the conflicts of a syndrome as something to mend; None if it cannot be read.

    Of each *parities* must really say their side, word for word: who is asked for conflicts finds
    some.
    """
    said = read_object(text)
    if said is None or not isinstance(said.get("consistent"), bool):
        return None
    conflicts = said.get("conflicts")
    if said["consistent"] or not isinstance(conflicts, list):
        return []
    spoken = [" ".join(parity.split()) for parity in parities]
    read = (_conflict(conflict, spoken) for conflict in conflicts[:_MOST_READ])
    return [finding for finding in read if finding is not None]


def _conflict(conflict: Json, spoken: Sequence[str]) -> Finding | None:
    if not isinstance(conflict, dict):
        return None
    main, parity, mended = (conflict.get(name) for name in ("main", "parity", "resolution"))
    if not isinstance(main, str) or not isinstance(parity, str) or not isinstance(mended, str):
        return None
    said = " ".join(parity.split())
    if not said or not mended.strip() or not any(said in text for text in spoken):
        return None
    return Finding(main, "wrong", mended, "major")


_CHECK: Final = """\
Check an answer that an assistant gave to the last request of a conversation. Work the task out \
for yourself first. Then say in a few words what the right result is, and list the passages of the \
answer that are wrong, word for word, with what is wrong about them. If you are not sure of the \
result, leave it "".
Reply with a JSON object only: {"result": ..., "faults": [{"quote": ..., "why": ...}]}."""
_DOUBT: Final = """\
An assistant gave an answer to the last request of a conversation. List the claims that it stands \
on, and of each how sure you are that it is true. Go by what you know and by what the conversation \
supplies, not by how sure the answer sounds.
Reply with a JSON object only: {"doubts": [{"claim": ..., "sure": "high" | "medium" | "low"}]}."""
_COMPARE: Final = """\
An assistant gave an answer to the last request of a conversation. Beside it stand checks: the \
same request worked out again by who had not seen the answer, or remarks on it. Name only where a \
check and the answer contradict each other: the claim at issue, the passage of the answer and that \
of the check, each word for word, and the resolution: the passage that should stand in the answer \
instead, or "" if the answer is right there. What one says and the other leaves out, other words, \
another order or another way are no conflict. Most often there is none: then it is consistent.
Reply with a JSON object only: {"consistent": true or false, "conflicts": [{"claim": ..., "main": \
..., "parity": ..., "resolution": ...}]}."""

_STRING: Final = {"type": "string"}
_CHECKING: Final = Purpose(
    "verification",
    700,
    object_schema(
        {
            "result": _STRING,
            "faults": {"type": "array", "items": object_schema({"quote": _STRING, "why": _STRING})},
        }
    ),
)
_DOUBTING: Final = Purpose(
    "verification",
    700,
    object_schema(
        {
            "doubts": {
                "type": "array",
                "items": object_schema(
                    {
                        "claim": _STRING,
                        "sure": {"type": "string", "enum": ["high", "medium", "low"]},
                    }
                ),
            }
        }
    ),
)
_COMPARING: Final = Purpose(
    "crosscheck",
    1024,
    object_schema(
        {
            "consistent": {"type": "boolean"},
            "conflicts": {
                "type": "array",
                "items": object_schema(
                    dict.fromkeys(("claim", "main", "parity", "resolution"), _STRING)
                ),
            },
        }
    ),
)
