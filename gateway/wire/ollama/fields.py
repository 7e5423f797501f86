"""Reads the fields that ``/api/chat`` and ``/api/generate`` share, and names wrong ones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from gateway.wire.openai_chat.fields import Fields, flag, integer, rest, thing, wrong
from techniques.core.errors import RequestRejected
from techniques.core.json import Json, JsonObject
from techniques.core.request import ResponseFormat, Sampling, ThinkingWish

NAME: Final = "ollama"
GENERATE: Final = "ollama_generate"
COMMON: Final = frozenset(
    {
        *("model", "stream", "format", "options", "think", "keep_alive", "logprobs"),
        *("top_logprobs", "truncate", "shift"),
    }
)
"""``keep_alive``, ``truncate`` and ``shift`` are about Ollama's own memory: there is none here."""
OPTIONS: Final = frozenset(
    {
        *("temperature", "top_p", "top_k", "num_predict", "stop", "seed"),
        *("presence_penalty", "frequency_penalty"),
    }
)
EFFORTS: Final = ("minimal", "low", "medium", "high", "xhigh", "max")
_MOST: Final = 2**64 - 1  # what JSON's writers take
_NOTHING_LEFT: Final = re.compile(r"[+-]?0+(\.0*)?[a-z]{0,2}")


def model_of(body: Fields) -> str:
    """Return the name of the model.

    Raises:
        RequestRejected: There is none.
    """
    name = body.get("model")
    if name is not None and not isinstance(name, str):
        raise wrong("model", "a string")
    if not name:
        raise RequestRejected("model is required", code="invalid_value", param="model")
    return name


def streamed(body: Fields) -> bool:
    """Return whether the answer comes in pieces: it does where nothing is said."""
    return flag(body, "stream") is not False


def options_of(body: Fields) -> JsonObject:
    """Return the options; one that is null counts as absent."""
    stated = thing(body, "options") or {}
    return {name: value for name, value in stated.items() if value is not None}


def ignored(options: Fields) -> Iterator[tuple[str, Json]]:
    """Yield the options that say something to Ollama alone, under the names they are told by."""
    for name, value in rest(options, OPTIONS).items():
        yield f"options.{name}", value


def limit_of(options: Fields) -> int | None:
    """Return how many tokens the answer may have; -1 and -2 are Ollama's words for any number."""
    limit = _whole(options, "num_predict")
    return limit if limit is not None and limit > 0 else None


def sampling_of(body: Fields, options: Fields) -> Sampling:
    """Return how to draw the answer."""
    return Sampling(
        temperature=_number(options, "temperature"),
        top_p=_number(options, "top_p"),
        top_k=_whole(options, "top_k"),
        max_output_tokens=limit_of(options),
        stop=_stop(options),
        seed=_whole(options, "seed"),
        logprobs=flag(body, "logprobs") or False,
        top_logprobs=integer(body, "top_logprobs") or None,
        presence_penalty=_number(options, "presence_penalty"),
        frequency_penalty=_number(options, "frequency_penalty"),
    )


def format_of(body: Fields) -> ResponseFormat | None:
    """Return the form of the answer's text: ``json``, or a schema."""
    wanted = body.get("format")
    if wanted is None or wanted == "":
        return None
    if wanted == "json":
        return ResponseFormat("json_object")
    if not isinstance(wanted, dict):
        raise wrong("format", '"json" or a JSON schema')
    return ResponseFormat("json_schema", wanted)


def wish_of(body: Fields) -> ThinkingWish | None:
    """Return how much the model is to think."""
    think = body.get("think")
    if think is None or think == "":
        return None
    if isinstance(think, bool):
        return ThinkingWish("on" if think else "off")
    if think not in EFFORTS:
        raise wrong("think", f"true, false or one of {', '.join(EFFORTS)}")
    return ThinkingWish(effort=think)


def is_over(keep_alive: Json) -> bool:
    """Return whether *keep_alive* says that the model is not to be kept at all."""
    if isinstance(keep_alive, str):
        return _NOTHING_LEFT.fullmatch(keep_alive) is not None
    return not isinstance(keep_alive, bool) and keep_alive == 0


_LIMITS: Final = ("max_tokens", "max_completion_tokens")


def in_common_words(body: Fields) -> Mapping[str, Json]:
    """Return *body* with what its limit, form and thinking are called in other dialects.

    Those who reckon what a call will need look at bodies that they do not decode. What stands there
    under such a name says nothing here.
    """
    changes: JsonObject = {name: None for name in _LIMITS if name in body}
    if (limit := limit_of(options_of(body))) is not None:
        changes["max_tokens"] = limit
    if (form := format_of(body)) is not None:
        changes["response_format"] = {"type": form.kind}
    if (wish := wish_of(body)) is not None:
        changes["reasoning_effort"] = (wish.effort or "medium") if wish.thinks else "none"
    return {**body, **changes} if changes else body


def _number(options: Fields, name: str) -> float | None:
    value = options.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise wrong(f"options.{name}", "a number")
    return value


def _whole(options: Fields, name: str) -> int | None:
    """Return an integer; Ollama takes one that is written as a fraction, too."""
    value = _number(options, name)
    if value is not None and (abs(value) > _MOST or value != int(value)):
        raise wrong(f"options.{name}", "an integer")
    return None if value is None else int(value)


def _stop(options: Fields) -> tuple[str, ...]:
    stop = options.get("stop")
    stops = [stop] if isinstance(stop, str) else [] if stop is None else stop
    if not isinstance(stops, list) or not all(isinstance(one, str) for one in stops):
        raise wrong("options.stop", "a string or a list of strings")
    return tuple(one for one in stops if one)
