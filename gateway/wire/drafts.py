"""How a best answer so far is shown among a model's reasoning, and known again when it comes back.

Clients send earlier turns back, reasoning and all. What was shown of drafts is none of a model's
reasoning and carries no signature, so it is taken out before anything is made of such a turn.
"""

from __future__ import annotations

from typing import Final

_OPENING: Final = "[Lockgate: the best answer so far]\n"
_CLOSING: Final = "\n[Lockgate: it may yet be replaced]\n\n"
_MARK: Final = _OPENING.strip().encode()


def draft(text: str) -> str:
    """Return the best answer so far, *text*, as it is shown."""
    return _OPENING + text + _CLOSING


def has_drafts(raw: bytes) -> bool:
    """Tell whether there may be drafts in the body *raw*."""
    return raw.find(_MARK) != -1


def without_drafts(reasoning: str) -> str:
    """Return *reasoning* without the drafts in it, in time that grows with its length alone."""
    kept: list[str] = []
    at = 0
    while (begin := reasoning.find(_OPENING, at)) != -1:
        end = reasoning.find(_CLOSING, begin + len(_OPENING))
        if end == -1:
            break
        kept.append(reasoning[at:begin])
        at = end + len(_CLOSING)
    return "".join((*kept, reasoning[at:]))
