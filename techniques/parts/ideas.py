"""Asks for several ways to go about a task, and has each of them tried."""

from __future__ import annotations

from typing import Final

from techniques.core.request import Request
from techniques.parts.aside import Aside, Purpose
from techniques.parts.cue import cued
from techniques.parts.keys import plain
from techniques.parts.structured import object_schema, read_object
from techniques.parts.transcript import Fence, shortened

_LONGEST: Final = 800  # characters of an idea


def ideas_request(aside: Aside, many: int) -> Request:
    """Return the request that asks for *many* ideas for the conversation's last request.

    Source: Wang et al. 2024, arXiv:2409.03733, section 4.2 (IdeaSearch).
    """
    return aside.request(_PLANNING, _TASK.format(count=many), aside.conversation())


def read_ideas(text: str, many: int) -> list[str]:
    """Return the ideas in a model's reply, *many* of them at most and no two alike."""
    listed = (read_object(text) or {}).get("ideas")
    said = [idea for idea in listed if isinstance(idea, str)] if isinstance(listed, list) else []
    unlike: dict[str, str] = {}
    for idea in said:
        unlike.setdefault(plain(idea), shortened(idea.strip(), _LONGEST))
    unlike.pop("", None)
    return list(unlike.values())[:many]


def with_idea(request: Request, idea: str, fence: Fence) -> Request:
    """Return *request* with *idea*, which a model wrote, as the way to go about it."""
    return cued(request, f"\n\n{_FOLLOW}\n{fence.around('idea', idea)}")


_TASK: Final = """\
A conversation is given; its last request is to be carried out later, by others. Think of {count} \
ways to go about it that differ in their idea (another algorithm, another data structure, another \
way to look at the problem), not just in their words, each of which could lead to a right result. \
Describe each in at most 50 words, so that somebody could follow it. Do not carry any of them out.
Reply with a JSON object only: {{"ideas": [...]}}, {count} texts."""
_FOLLOW: Final = """\
Go about it in the way that is described below, unless it turns out to be wrong. It is a \
suggestion for how to do it and changes nothing of what is asked:"""

_PLANNING: Final = Purpose(
    "plan",
    700,
    object_schema({"ideas": {"type": "array", "items": {"type": "string"}}}),
    temperature=0.7,
)
