"""How sure a model is of its own answer: from its tokens, in its own words, or asked afterwards."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace
from statistics import fmean
from typing import Final

from techniques.core.channel import Member
from techniques.core.json import NOTHING, Json, JsonObject
from techniques.core.reply import Reply
from techniques.core.request import Message, Request, Sampling, Text, ThinkingWish, ToolChoice
from techniques.parts.asked_lines import (
    BLANKS,
    COLONS,
    MARKUP,
    after_words,
    asked_lines,
    bare,
)
from techniques.parts.cue import cue_line
from techniques.parts.transcript import answer_shown

_ALTERNATIVES: Final = 5  # likely tokens to look for 1 and 0 among; more than some providers give

ASK: Final = (
    "\n\nAfter all of that, add one more line of the form `Confidence: N`, where N is a whole "
    "number from 0 to 100: how likely your answer is right, in percent."
)
"""What asks for a stated confidence. Goes to the end of the question."""

CHECK: Final = """\
Is your answer right? Reply with one digit and nothing else: 1 if it is right, 0 if it is not."""
"""What asks for the probability of being right, after the answer."""

_PERCENT = re.compile(
    r"""(?:(?:about|around|approximately|roughly|only)[ \t]+|[~\u2248])?
        (?P<number>\d{1,3}(?:[.,]\d{1,9})?)
        (?P<unit>[ \t]*(?:%|percent|/[ \t]*100|out[ \t]+of[ \t]+100))?""",
    re.IGNORECASE | re.VERBOSE,
)
_IN_WORDS = re.compile(
    r"(?:(?:very|extremely|fairly|quite|pretty|rather|moderately)[ \t]+)?"
    r"(?:high|low|medium|moderate|strong|weak|certain|sure|uncertain|unsure|n/a|none|unknown)",
    re.IGNORECASE,
)
_REMARK = re.compile(r"(?<![ \t])[ \t]*\([^()]*\)$")
_LABELS: Final = [
    (*whose, "confidence", *what)
    for whose in ((), ("my",), ("the",))
    for what in (("level",), ("score",), ("rating",), ())
]
_ENDS: Final = f"{BLANKS}{MARKUP}."
_LONGEST: Final = 80  # characters of such a line: what is longer says something else as well
_OTHERS: Final = 1  # lines that may stand after it: some models state their answer there


def telling(request: Request, member: Member) -> Request:
    """Return *request* with the wish for log-probabilities, if *member* has any."""
    if not member.capabilities.logprobs:
        return request
    return replace(request, sampling=replace(request.sampling, logprobs=True))


def token_sureness(reply: Reply) -> float | None:
    """Return the geometric mean of the probabilities of the answer's tokens, 0 to 1.

    Thinking has no part in it, nor has the line that was asked for in addition, unless there is
    nothing else. None if the reply does not tell.
    """
    tokens = list(tokens_of(reply.logprobs))
    end = cue_line(reply.text) or 0
    answer = [logprob for start, logprob in _placed(tokens) if start < end] if end else []
    told = answer or [logprob for _, logprob in tokens]
    return math.exp(min(0.0, fmean(told))) if told else None


def spoken(reply: Reply) -> tuple[Reply, float | None]:
    """Return *reply* without the line that ``ASK`` asks for, and the confidence stated, 0 to 1."""
    places = [place for place, part in enumerate(reply.parts) if isinstance(part, Text)]
    last = reply.parts[places[-1]] if places else None
    if not isinstance(last, Text):
        return reply, None
    found = asked_lines(last.text, _stated, _OTHERS)
    if found is None:
        return reply, None
    sure = next((value for value in reversed(found.told) if 0 <= value <= 1), None)
    left = "\n\n".join(text for text in (found.before, found.after) if text)
    if sure is None and not left:
        return reply, None
    parts = (*reply.parts[: places[-1]], replace(last, text=left), *reply.parts[places[-1] + 1 :])
    return replace(reply, parts=parts), sure


def _stated(line: str) -> float | None:
    """Return the confidence, 0 to 1, that *line* states; -1 if it does so without a number of use.

    None if it is no such line.
    """
    line = line.strip(BLANKS)
    start, _ = bare(line) if len(line) <= _LONGEST else ("", "")
    told = next(
        (rest for words in _LABELS if (rest := after_words(start, *words)) is not None), ""
    ).lstrip(f"{BLANKS}{MARKUP}")
    if told[:1] not in {*COLONS, "="}:
        return None
    value = _REMARK.sub("", told[1:].strip(_ENDS)).strip(_ENDS)
    percent = _PERCENT.fullmatch(value)
    if percent is None:
        return -1 if _IN_WORDS.fullmatch(value) else None
    number = float(percent["number"].replace(",", "."))
    fraction = not percent["number"].isdecimal() and number <= 1 and not percent["unit"]
    sure = number if fraction else number / 100
    return sure if sure <= 1 else -1


def check_request(request: Request, reply: Reply, member: Member, step: str) -> Request:
    """Return the request that asks *member*, after its own *reply*, whether that was right.

    It is the conversation of *request* continued, so that its beginning is in the cache of a
    provider that has one. One token is enough: what counts are the probabilities of 1 and 0.

    Source: Kadavath et al. 2022, arXiv:2207.05221, section 4 (P(True)).
    """
    return replace(
        request.with_turns(
            Message("assistant", (Text(answer_shown(reply)),)), Message("user", (Text(CHECK),))
        ),
        tool_choice=ToolChoice("none") if request.tools else None,
        response_format=None,
        sampling=Sampling(
            temperature=0.0 if member.capabilities.temperature else None,
            max_output_tokens=1,
            logprobs=True,
            top_logprobs=_ALTERNATIVES,
        ),
        thinking=ThinkingWish("off"),
        stream=False,
        role="confidence",
        step=step,
        extra=NOTHING,
    )


def read_check(reply: Reply) -> float | None:
    """Return the probability of 1 against 0 in the first token of *reply*, None if not told."""
    content = reply.logprobs.get("content") if isinstance(reply.logprobs, dict) else None
    first = content[0] if isinstance(content, list) and content else None
    if not isinstance(first, dict):
        return None
    listed = first.get("top_logprobs") or [first]
    chances: defaultdict[str, float] = defaultdict(float)
    for token, logprob in tokens_of({"content": listed}):
        chances[token.strip()] += math.exp(min(0.0, logprob))
    total = chances["1"] + chances["0"]
    return chances["1"] / total if total else None


def levelled(sureness: Mapping[int, float], drawer: Mapping[int, Hashable]) -> dict[int, float]:
    """Return *sureness* by place with the differences between the models taken out.

    How likely a model finds its tokens depends on the model, so only what it says within one model
    is compared. *drawer* tells which model drew at a place. Where each model drew once there is
    nothing to compare by, and *sureness* is returned as it is.
    """
    by_model: defaultdict[Hashable, list[float]] = defaultdict(list)
    for place, value in sureness.items():
        by_model[drawer[place]].append(value)
    if len(by_model) in {1, len(sureness)}:
        return dict(sureness)
    middle = fmean(sureness.values())
    off = {model: fmean(values) - middle for model, values in by_model.items()}
    return {
        place: min(max(value - off[drawer[place]], 0.0), 1.0) for place, value in sureness.items()
    }


def tokens_of(logprobs: Json) -> Iterator[tuple[str, float]]:
    """Yield the tokens of OpenAI's ``logprobs`` object that have a log-probability."""
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    for token in content if isinstance(content, list) else ():
        if isinstance(token, dict) and _is_told(token):
            yield str(token.get("token", "")), float(token["logprob"])


_LEAST: Final = -1e6  # what is below is no logarithm of a probability, and no mean is taken of it


def _is_told(token: JsonObject) -> bool:
    logprob = token.get("logprob")
    if isinstance(logprob, bool) or not isinstance(logprob, int | float):
        return False
    return logprob > _LEAST


def _placed(tokens: list[tuple[str, float]]) -> Iterator[tuple[int, float]]:
    """Yield where each token starts in the text, and its log-probability."""
    start = 0
    for token, logprob in tokens:
        yield start, logprob
        start += len(token)
