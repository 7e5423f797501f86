"""How hard a question is for a model, by what its first answer tells."""

from __future__ import annotations

from typing import Final

from techniques.core.reply import Reply
from techniques.core.request import Request
from techniques.parts.aside import Aside, Purpose
from techniques.parts.structured import object_schema, read_object
from techniques.parts.transcript import answer_shown

AGREED: Final = 0.2
"""The difficulty where two answers are the same."""
DISAGREED: Final = 0.7
"""The difficulty where they are not."""

_RATING: Final = Purpose("rating", 200, object_schema({"difficulty": {"type": "number"}}))


def rating_request(aside: Aside, reply: Reply) -> Request:
    """Return the request that has the model itself say how hard its question was."""
    shown = aside.fence.around("answer", answer_shown(reply))
    return aside.request(_RATING, aside.conversation(), shown, _ASK)


def read_rating(text: str) -> float | None:
    """Return the difficulty that *text* states, 0 to 1, None if it states none."""
    value = (read_object(text) or {}).get("difficulty")
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if 0 <= value <= 1 else None


_ASK: Final = """\
How hard was it to answer the last turn of this conversation as it wants to be answered? Think of \
how many able people would have got it wrong, and of how easily the answer above may be wrong.

Reply with JSON only: {"difficulty": d}, where d is a number from 0 (nobody could miss it) to 1 \
(hardly anyone gets it right)."""
