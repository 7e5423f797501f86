"""Asks a model for one answer made of several: how they are shown to it, and what it is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from techniques.core.channel import Member
from techniques.core.masks import takes_temperature
from techniques.core.request import Message, Request, Text, ToolChoice
from techniques.parts.candidates import Candidate
from techniques.parts.transcript import Fence, answer_shown

Intent: TypeAlias = Literal["combine", "aggregate", "anchor"]
"""What to make of the drafts.

``combine``: an answer of what they say and nothing else. ``aggregate``: an answer of the writer's
own, for which they are material. ``anchor``: the first of them, bettered by the others.
"""

_UNBOUNDED: Final = 10**9
_STRONG: Final = 2 / 3  # of the greatest weight
_MEDIUM: Final = 1 / 3


@dataclass(frozen=True, slots=True)
class Brief:
    """What a synthesis is to be made of, and how.

    Attributes:
        drafts: The candidates, in the order in which they are shown.
        intent: What to make of them.
        temperature: That of the writing; None for the client's own.
        remarks: What a critic says of them, "" if none was asked.
        step: The name of the call.
    """

    drafts: Sequence[Candidate]
    intent: Intent = "combine"
    temperature: float | None = 0.1
    remarks: str = ""
    step: str = "s0"


def synthesis_request(request: Request, brief: Brief, fence: Fence, writer: Member) -> Request:
    """Return the request that asks *writer* to answer *request* from the drafts of *brief*.

    It is the conversation itself with the drafts at its end, so that its beginning is in the cache
    of a provider that has one. The writer cannot call tools, and no log-probabilities are wanted:
    they would be of words that nobody drew.
    """
    sampling = replace(request.sampling, logprobs=False, top_logprobs=None)
    if brief.temperature is not None and takes_temperature(writer.capabilities, request.thinking):
        sampling = replace(sampling, temperature=brief.temperature)
    asked = with_drafts(request, brief, fence)
    return replace(
        asked,
        sampling=sampling,
        tool_choice=ToolChoice("none") if request.tools else None,
        role="synthesis",
        step=brief.step,
    )


def with_drafts(request: Request, brief: Brief, fence: Fence) -> Request:
    """Return *request* with the drafts of *brief*, and what to do with them, at its end."""
    words = supports(brief.drafts)
    shown = drafts_shown(brief.drafts, fence, words)
    remarks = (_REMARKS, fence.around("remarks", brief.remarks)) if brief.remarks else ()
    weighed = (_SUPPORT,) if any(words) else ()
    task = _TASKS[brief.intent].format(count=len(shown))
    passages = (task, *weighed, fence.notice, *shown, *remarks, _END)
    return _at_the_end(request, "\n\n".join(passages))


def begun(request: Request) -> bool:
    """Tell whether the answer's beginning is given in *request*: nothing can stand after it."""
    return bool(request.messages) and request.messages[-1].role == "assistant"


def supports(drafts: Sequence[Candidate]) -> list[str]:
    """Return how well each of *drafts* is supported, in words; "" for all if none is ahead."""
    most = max(one.weight for one in drafts)
    shares = [one.weight / most for one in drafts]
    if min(shares) == 1:
        return [""] * len(drafts)
    return [
        " (strong support)"
        if share >= _STRONG
        else " (medium support)"
        if share >= _MEDIUM
        else " (weak support)"
        for share in shares
    ]


def drafts_shown(drafts: Sequence[Candidate], fence: Fence, words: Sequence[str] = ()) -> list[str]:
    """Return *drafts* as fenced text, named by letters that tell nothing, with *words* beside."""
    beside = words or [""] * len(drafts)
    return [
        fence.around(f"draft {_label(place)}{word}", answer_shown(one.reply, _UNBOUNDED))
        for place, (one, word) in enumerate(zip(drafts, beside, strict=True))
    ]


def _label(place: int) -> str:
    return chr(ord("A") + place) if place < 26 else str(place + 1)


def _at_the_end(request: Request, text: str) -> Request:
    """Return *request* with *text* after all that was said."""
    *before, last = request.messages or (Message("user", ()),)
    if last.role != "user":
        return request.with_turns(Message("user", (Text(text),)))
    own = Text("\n\n" + text) if last.parts else Text(text)
    return replace(request, messages=(*before, replace(last, parts=(*last.parts, own))))


_COMBINE: Final = """\
Below are {count} drafts of an answer to the request above, each written without sight of the \
others. Write the one answer that serves the request best, in the language and the form that it \
asks for. Use only what the drafts say. Keep what they agree on; where they contradict each other, \
follow the one with the better reasons. Copy numbers, code, names, links and quotations exactly, \
and bring in none that no draft has. If nothing in the others improves on one of them, give that \
one unchanged."""
_AGGREGATE: Final = """\
Below are {count} drafts of an answer to the request above, by several models. Judge them \
critically: any of them may be wrong, one-sided or incomplete, and that several say a thing does \
not make it so. Then write your own answer to the request: right, complete and well ordered, in \
the language and the form that it asks for. Do not merely put passages of the drafts together."""
_ANCHOR: Final = """\
Below are {count} drafts of an answer to the request above. Draft A is the best of them. Give it \
again in the language and the form that the request asks for, changed only where another draft \
shows that it is wrong or lacks something that matters. Copy numbers, code, names, links and \
quotations exactly, and bring in none that no draft has."""
_SUPPORT: Final = """\
How well a draft is supported stands beside its letter: where drafts contradict each other, follow \
the better supported one."""
_REMARKS: Final = "A reader went over the drafts and remarks:"
_END: Final = """\
Give the answer to the request and nothing else: no word about the drafts or this task."""
_TASKS: Final[dict[Intent, str]] = {
    "combine": _COMBINE,
    "aggregate": _AGGREGATE,
    "anchor": _ANCHOR,
}
