"""What kind of answer a request asks for. Decided once per request, from the request alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Final, Literal, TypeAlias

from pricing.record import record
from techniques.core.json import NOTHING, Json
from techniques.core.request import Request, Tool
from techniques.parts.markers import ends

AnswerKind: TypeAlias = Literal[
    "tool", "json", "letter", "number", "yes_no", "short", "code", "prose"
]


@record(frozen=True, slots=True)
class Expected:
    """The answer that a request asks for.

    Attributes:
        kind: ``tool`` where a tool may be called; the other kinds speak of the text.
        text: The kind that a text has, if the answer is no tool call.
        options: The choices named in the question, by upper-case letter.
        parameters: The JSON schema of each tool's arguments.
        schema: The JSON schema of the text, if there is one.
        free: The client did not fix the form, so a line may be asked for at the end.
    """

    kind: AnswerKind
    text: AnswerKind
    options: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, Json] = NOTHING
    schema: Json = None
    free: bool = True


def expect(request: Request) -> Expected:
    """Return what kind of answer *request* asks for."""
    ask = ends(last_ask(request))
    options = _options(ask)
    text = _text_kind(request, ask, options)
    acts = bool(request.tools) and not (request.tool_choice and request.tool_choice.mode == "none")
    wanted = request.response_format
    return Expected(
        "tool" if acts else text,
        text,
        options,
        {tool.name: tool.parameters for tool in request.tools if isinstance(tool, Tool)},
        wanted.schema if wanted else None,
        _is_free(request, ask),
    )


def last_ask(request: Request) -> str:
    """Return the text of the last user turn, "" if there is none."""
    turns = (turn for turn in reversed(request.messages) if turn.role == "user")
    return next((turn.text for turn in turns), "")


def _options(ask: str) -> Mapping[str, str]:
    found = {letter: text.strip(" .;,\n") for letter, text in _OPTION.findall(ask)}
    letters = "ABCDEFGHIJ"[: len(found)]
    return {letter: found[letter] for letter in letters} if set(letters) == set(found) else {}


def _text_kind(request: Request, ask: str, options: Mapping[str, str]) -> AnswerKind:
    if request.response_format is not None:
        return "json"
    if len(options) > 1:
        return "letter"
    return next((kind for kind, holds in _RULES if holds(ask)), "prose")


def _is_free(request: Request, ask: str) -> bool:
    sampling = request.sampling
    room = sampling.max_output_tokens is None or sampling.max_output_tokens >= _ROOM
    fixed = sampling.stop or sampling.logprobs or _FIXED.search(ask)
    prefilled = bool(request.messages) and request.messages[-1].role == "assistant"
    return room and not fixed and not prefilled


_ROOM: Final = 64  # output tokens below which a further line may cost the answer its end

_OPTION = re.compile(
    r"(?:^|(?<=[\s(\[]))\(?([A-J])[).:]\s+(.+?)(?=\s*(?:\n|[\s(\[]\(?[A-J][).:]\s|$))"
)
_FIXED = re.compile(
    r"""\b(?:(?:answer|respond|reply|output|return|say)\s+(?:me\s+)?(?:with\s+|in\s+)?
        (?:only|just|exactly|nothing\s+but|a\s+single|one\s+word|json|xml|yaml|csv)
      |only\s+(?:the|a|an|output|answer|respond|reply|return|say)\b|nothing\s+else|no\s+explanation
      |in\s+the\s+(?:following\s+)?(?:form|format)\b|single\s+(?:word|letter|number)
      |one\s+word|(?:final\s+)?answer:|\\boxed|\#\#\#\#|json|xml\b|yaml)""",
    re.IGNORECASE | re.VERBOSE,
)
_CODE = re.compile(
    r"""```|=>|;[ \t]*$|\b(?:
       def\s+\w+\(|Traceback\b|class\s+\w+[:({]|SELECT\b.{1,200}\bFROM\b
      |(?:write|fix|refactor|implement|debug|port|test|code)\b[^.?!]{0,60}
       \b(?:python|javascript|typescript|java|rust|golang|c\+\+|sql|bash|shell|regex|html|css
          |function|class|method|script|program|query|unit\s+tests?|algorithm)\b)""",
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)
_CREATIVE = re.compile(
    r"""\b(?:write|compose|imagine|draft|invent|create|tell)\b[^.?!]{0,60}
        \b(?:story|stories|poem|lyrics?|haiku|limerick|dialogue|song|essay|joke|email|letter|slogan|blog
           |post|speech|tale|article|paragraph|name|tagline)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_LONG = re.compile(
    r"""\b(?:explain|describe|discuss|summari[sz]e|compare|analy[sz]e|outline|translate|rewrite|list|elaborate
          |advise|recommend|suggest|why|how\s+(?:do|does|can|could|should|would|to|is|are|did)|prove|tell\s+me\s+about
          |what\s+are)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_YES_NO = re.compile(
    r"""\b(?:yes\s+or\s+no|true\s+or\s+false|yes/no|true/false)\b
      |(?:^|[.!?\n][ \t]*)(?:is|are|was|were|does|did|has|have|had)\s[^?.!\n]{3,200}\?\s*$""",
    re.IGNORECASE | re.VERBOSE,
)
_NAMES = re.compile(
    r"\b(?:who|whom|whose|when|where|which|what\s+(?:date|day|year|city|country|name|word|colou?r))\b"
    r"|\bwhat(?:'s|\s+is|\s+was)\s+(?:the\s+)?(?:name|date|capital|day|title)\b",
    re.IGNORECASE,
)
_NUMBERS = re.compile(
    r"""\bhow\s+(?:many|much|long|far|old|tall|fast|often)\b|\b(?:calculate|compute|evaluate|solve)\b
      |\b(?:what(?:'s|\s+is)|find|determine)\s+(?:the\s+)?
       (?:\w+\s+){0,2}(?:sum|total|product|difference|quotient|remainder|average|mean|median|value
          |number|probability|percent\w*|area|volume|perimeter|cost|price|root|ratio)\b
      |\d\s*(?:[-+*/\u00d7\u00f7^\u2212]|times|plus|minus|divided\s+by)\s*[(]?[-\u2212]?\d""",
    re.IGNORECASE | re.VERBOSE,
)
_SHORT = re.compile(r"\bwhat(?:'s|\s+is|\s+was)\b|\bname\b", re.IGNORECASE)


def _two_numbers_asked(ask: str) -> bool:
    return "?" in ask and len(re.findall(r"\d+(?:\.\d+)?", ask)) > 1


def _is_short_question(ask: str) -> bool:
    return len(ask.split()) <= 40 and bool(_NAMES.search(ask) or _SHORT.search(ask))


_RULES: Final[tuple[tuple[AnswerKind, Callable[[str], object]], ...]] = (
    ("code", _CODE.search),
    ("prose", _CREATIVE.search),
    ("prose", lambda ask: _LONG.search(ask) and not _NUMBERS.search(ask)),
    ("yes_no", _YES_NO.search),
    ("number", lambda ask: _NUMBERS.search(ask) and not _NAMES.search(ask)),
    ("number", lambda ask: _two_numbers_asked(ask) and not _NAMES.search(ask)),
    ("short", _is_short_question),
)
"""The first that holds names the kind; else it is prose."""
