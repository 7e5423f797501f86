"""What a router is told of a request: its features, and the text whose vector is to be had.

The text stays in this process: only an encoder sees it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from hashlib import blake2b
from typing import Final

from pricing.record import record
from router_service.contract import Features
from router_service.languages import language_of
from techniques.core.request import Message, Part, Request, Text, ToolCall, ToolResult, said
from techniques.parts.answers import expect
from techniques.parts.category import categorise
from techniques.parts.features import CONTENT, features
from techniques.parts.transcript import pictures

_BYTES_A_TOKEN: Final = 4
_SHORT: Final = 40 * _BYTES_A_TOKEN
_BEFORE: Final = 400 * 4  # characters
_LONGEST: Final = 32_000  # characters; an encoder looks at less
_END: Final = 1000  # characters
_CODE_LINES: Final = 40
_FENCE: Final = re.compile(r"^[ \t]*(```|~~~)", re.MULTILINE)
_START: Final = 80  # characters in which a question says that it goes on with what was said
_ANAPHORA: Final = re.compile(
    r"""\b(?:it|its|this|that|these|those|them|they|he|she|his|her|above|previous|earlier|again
      |instead|continue|shorter|longer|same|go\s+on|and\s+what\s+about|what\s+about
      |das|dies\w*|davon|darin|dazu|damit|nochmal|weiter|kürzer|länger|stattdessen
      |cela|ça|celui|celle|ceci|encore|plus\s+court|continue[zr]?|précédent\w*
      |eso|esto|aquello|otra\s+vez|más\s+corto|continúa|anterior
      |isso|isto|aquilo|de\s+novo|questo|quello|ancora
      |это|этот|эта|эти|того|ещё|еще|короче|продолж\w*)\b
      |\u8fd9|\u90a3|\u4e0a\u9762|\u7ee7\u7eed|\u305d\u308c|\u3053\u308c|\u7d9a\u3051""",
    re.IGNORECASE | re.VERBOSE,
)


@record(frozen=True, slots=True)
class Prompt:
    """What can be told of a request, and the text that says what it is about ("": none)."""

    features: Features
    text: str


def prompt_of(request: Request, label: str = "") -> Prompt:
    """Return what a router is told of *request*, decoded; *label* is the client's own word for it.

    It takes about 0.2 ms; what kind of answer is asked for is, of a long question, read off its
    start and its end.
    """
    expected, category = expect(_clipped(request)), categorise(request)
    content = features(request, category, None, expected)
    text = embedding_text(request)
    told = Features.model_construct(
        kind=expected.kind,
        category=category.name,
        category_confidence=category.confidence,
        label=label,
        language=language_of(text),
        tools=bool(request.tools),
        json_schema=request.response_format is not None,
        image=bool(pictures(request)),
        turns=sum(turn.role == "user" for turn in request.messages),
        tokens=sum(map(_size, request.messages)) // _BYTES_A_TOKEN,
        system=_system(request.messages),
        content={name: value for name, value in content.items() if name in CONTENT},
    )
    return Prompt(told, text)


def _clipped(request: Request) -> Request:
    """Return *request* with the middle of its last question left out, if that is long."""
    turns = request.messages
    last = next((at for at in reversed(range(len(turns))) if turns[at].role == "user"), None)
    if last is None or len(ask := turns[last].text) <= 2 * _END:
        return request
    short = said("user", f"{ask[:_END]}\n\n{ask[-_END:]}")
    return replace(request, messages=(*turns[:last], short, *turns[last + 1 :]))


def embedding_text(request: Request) -> str:
    """Return the last thing its user said; what is short or points back, with what was said before.

    Long blocks of code are cut. Instructions to the model are not in it.
    """
    turns = [turn for turn in request.messages if turn.role in {"user", "assistant"}]
    asked = [place for place, turn in enumerate(turns) if turn.role == "user" and turn.text]
    if not asked:
        return ""
    text = _cut(turns[asked[-1]].text[:_LONGEST])
    before = turns[: asked[-1]]
    if before and (_bytes(text) < _SHORT or _ANAPHORA.search(text, 0, _START)):
        return f"{_said_before(before)}\n\n{text}".lstrip()
    return text


def _said_before(turns: Iterable[Message]) -> str:
    """Return the last of what was said in *turns*, about 400 tokens of it."""
    said: list[str] = []
    room = _BEFORE
    for turn in reversed(list(turns)):
        text = _cut(turn.text[-_LONGEST:])[-room:].strip()
        if text:
            said.append(text)
            room -= len(text)
        if room <= 0:
            break
    return "\n\n".join(reversed(said))


def _cut(text: str) -> str:
    """Return *text* with at most 40 lines of each of its blocks of code."""
    if "```" not in text and "~~~" not in text:
        return text
    kept: list[str] = []
    fence, inside = "", 0
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence, inside = mark[1], 0
        elif mark and mark[1] == fence:
            fence = ""
        elif fence:
            inside += 1
        if not fence or inside <= _CODE_LINES:
            kept.append(line)
    return "".join(kept)


def _system(turns: Iterable[Message]) -> str:
    """Return 64 bits, in hex, of the hash of the instructions in *turns*, "" without any."""
    said = [turn.text for turn in turns if turn.role in {"system", "developer"}]
    if not any(said):
        return ""
    written = "\n\n".join(said).encode("utf-8", "replace")
    return blake2b(written, digest_size=8).hexdigest()


def _size(turn: Message) -> int:
    """Return how many bytes of text *turn* has, tool calls and their results with it."""
    return sum(map(_part_size, turn.parts))


def _part_size(part: Part) -> int:
    match part:
        case Text():
            return _bytes(part.text)
        case ToolCall():
            return _bytes(part.arguments)
        case ToolResult():
            return sum(map(_part_size, part.parts))
        case _:
            return 0


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
