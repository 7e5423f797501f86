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

_STATED = re.compile(
    r"(?:(?:my|the)\s+)?confidence[ \t*_`]*[:=][ \t*_`]*(?P<percent>\d{1,3})(?:\.\d+)?"
    r"[ \t]*(?:%|/[ \t]*100|percent)?",
    re.IGNORECASE,
)
_EDGES: Final = " \t>*_#`-."
_LONGEST: Final = 80  # characters of such a line: what is longer says something else as well
_LOOKED_AT: Final = 2  # last lines: some models state their answer after it


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
    lines = last.text.rstrip().split("\n")
    written = [place for place, line in enumerate(lines) if line.strip()]
    for place in reversed(written[-_LOOKED_AT:]):
        line = lines[place].strip(_EDGES)
        found = _STATED.fullmatch(line) if len(line) <= _LONGEST else None
        if found:
            around = "\n".join(lines[:place]).rstrip(), "\n".join(lines[place + 1 :]).strip()
            text = replace(last, text="\n\n".join(text for text in around if text))
            parts = (*reply.parts[: places[-1]], text, *reply.parts[places[-1] + 1 :])
            percent = int(found["percent"])
            return replace(reply, parts=parts), percent / 100 if percent <= 100 else None
    return reply, None


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
