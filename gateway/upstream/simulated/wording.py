"""Words answers and errors as OpenAI's chat completions API does: one body, or a stream."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

import orjson

from gateway.upstream.simulated.asked import Asked, Refused
from gateway.upstream.simulated.dice import Dice
from gateway.upstream.simulated.logprobs import odds_logprobs, token_logprobs
from gateway.upstream.simulated.pieces import Draft, count, split
from gateway.upstream.simulated.settings import FINGERPRINT
from techniques.core.json import Json, JsonObject

DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True)
class Answer:
    """All choices of one answer; ``created`` is in seconds since 1970."""

    asked: Asked
    drafts: tuple[Draft, ...]
    dice: Dice
    created: int

    @property
    def tokens(self) -> int:
        """Tokens of all choices."""
        return sum(count(draft) for draft in self.drafts)

    @property
    def usage(self) -> JsonObject:
        """OpenAI's usage object."""
        return {
            "prompt_tokens": self.asked.prompt_tokens,
            "completion_tokens": self.tokens,
            "total_tokens": self.asked.prompt_tokens + self.tokens,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
        }


def whole(answer: Answer) -> bytes:
    """Return the body of an answer that is not streamed."""
    choices = [_choice(answer, index, draft) for index, draft in enumerate(answer.drafts)]
    body = _head(answer, "chat.completion") | {"choices": choices, "usage": answer.usage}
    return orjson.dumps(body)


def stream(answer: Answer) -> Iterator[tuple[bytes, int]]:
    """Yield the events of a streamed answer, each with the tokens it carries."""
    head = _head(answer, "chat.completion.chunk")
    runs = [_deltas(answer, index, draft) for index, draft in enumerate(answer.drafts)]
    for wave in zip_longest(*runs):
        for choice in wave:
            if choice is not None:
                tokens = 0 if choice["finish_reason"] or "role" in choice["delta"] else 1
                yield _event(answer, head | {"choices": [choice]}), tokens
    if answer.asked.include_usage:
        yield _frame(head | {"choices": [], "usage": answer.usage}), 0
    yield DONE, 0


def failure(refused: Refused) -> bytes:
    """Return the body of an error."""
    error = {
        "message": refused.message,
        "type": refused.kind,
        "param": refused.param,
        "code": refused.code,
    }
    return orjson.dumps({"error": error})


def _head(answer: Answer, kind: str) -> JsonObject:
    return {
        "id": f"chatcmpl-{answer.dice.text('id', 24)}",
        "object": kind,
        "created": answer.created,
        "model": answer.asked.model,
        "system_fingerprint": FINGERPRINT,
    }


def _event(answer: Answer, chunk: JsonObject) -> bytes:
    return _frame(chunk | {"usage": None} if answer.asked.include_usage else chunk)


def _frame(chunk: JsonObject) -> bytes:
    return b"data: " + orjson.dumps(chunk) + b"\n\n"


def _choice(answer: Answer, index: int, draft: Draft) -> JsonObject:
    message: JsonObject = {"role": "assistant", "content": draft.text, "refusal": None}
    if draft.calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in draft.calls
        ]
    entries = _logprobs(answer, index, draft)
    return {
        "index": index,
        "message": message,
        "logprobs": None if entries is None else {"content": entries, "refusal": None},
        "finish_reason": draft.finish,
    }


def _logprobs(answer: Answer, index: int, draft: Draft) -> list[JsonObject] | None:
    top = answer.asked.top_logprobs
    if top is None or draft.text is None:
        return None
    if draft.odds:
        return odds_logprobs(draft.text, dict(draft.odds), top)
    dice = answer.dice.fork(f"logprobs {index}")
    return token_logprobs(split(draft.text), top, dice, sure=draft.sure)


def _deltas(answer: Answer, index: int, draft: Draft) -> Iterator[JsonObject]:
    first = None if draft.text is None else ""
    yield _delta(index, {"role": "assistant", "content": first, "refusal": None})
    entries = _logprobs(answer, index, draft)
    for at, piece in enumerate(split(draft.text or "")):
        told = None if entries is None else {"content": [entries[at]], "refusal": None}
        yield _delta(index, {"content": piece}, logprobs=told)
    for at, call in enumerate(draft.calls):
        opening = {"name": call.name, "arguments": ""}
        opened = {"index": at, "id": call.id, "type": "function", "function": opening}
        yield _delta(index, {"tool_calls": [opened]})
        for piece in split(call.arguments):
            more = {"index": at, "function": {"arguments": piece}}
            yield _delta(index, {"tool_calls": [more]})
    yield _delta(index, {}, finish=draft.finish)


def _delta(
    index: int, delta: JsonObject, *, logprobs: Json = None, finish: str | None = None
) -> JsonObject:
    return {"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish}
