"""Token log-probabilities in OpenAI's form: finite, and lower where the answer is wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping

from gateway.upstream.simulated.dice import Dice
from techniques.core.json import JsonObject

_ALTERNATIVES = (
    " the", " a", " of", " is", " to", " in", " and", " that", " it", " one", " for",
    " on", " as", " by", " at", " or", " not", " be", " so", " two", " an",
)  # fmt: skip
_TYPICAL_SURE = 0.94
_TYPICAL_UNSURE = 0.78


def token_logprobs(pieces: list[str], top: int, dice: Dice, *, sure: bool) -> list[JsonObject]:
    """Return an entry for each of *pieces*, with *top* alternatives each.

    The probabilities vary from token to token and from answer to answer, so that those of a right
    and of a wrong answer overlap.
    """
    typical = _TYPICAL_SURE if sure else _TYPICAL_UNSURE
    mood = 0.16 * (dice.fraction("mood") - 0.5)
    entries = []
    for at, piece in enumerate(pieces):
        swing = 0.2 * (dice.fraction(f"token {at}") - 0.5)
        probability = min(max(typical + mood + swing, 0.02), 0.9995)
        entries.append(_entry(piece, math.log(probability)) | {"top_logprobs": []})
        entries[-1]["top_logprobs"] = _alternatives(piece, probability, top)
    return entries


def odds_logprobs(piece: str, odds: Mapping[str, float], top: int) -> list[JsonObject]:
    """Return the entry for an answer of one *piece*, drawn from *odds*."""
    ranked = sorted(odds.items(), key=lambda pair: -pair[1])[:top]
    told = [_entry(token, math.log(chance)) for token, chance in ranked]
    return [_entry(piece, math.log(odds[piece])) | {"top_logprobs": told}]


def _alternatives(piece: str, probability: float, top: int) -> list[JsonObject]:
    """Return the *top* likeliest tokens, the chosen one among them; likeliest first."""
    others = [word for word in _ALTERNATIVES if word != piece]
    rest = 1.0 - probability
    ranked = [(piece, probability)]
    for word in others[: max(top - 1, 0)]:
        rest /= 2
        ranked.append((word, rest))
    ranked.sort(key=lambda pair: -pair[1])
    return [_entry(word, math.log(chance)) for word, chance in ranked[:top]]


def _entry(token: str, logprob: float) -> JsonObject:
    raw = token.encode("utf-8", "replace")
    return {"token": token, "logprob": round(logprob, 6), "bytes": list(raw)}
