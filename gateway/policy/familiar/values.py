"""How values of other gateways' settings are read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, NoReturn

import orjson

from techniques.core.errors import RequestRejected
from techniques.core.json import Json, JsonObject

_DAY_MS: Final = 86_400_000
_MOST_RETRIES: Final = 100

APPROACHES: Final[Mapping[str, str]] = {
    "bon": "best_of_n",
    "genselect": "genselect",
    "moa": "mixture_of_agents",
    "none": "none",
    "plansearch": "plan_search",
    "re2": "re2",
    "router": "auto",
    "self_consistency": "self_consistency",
}
"""OptiLLM's approaches that are techniques here, and which."""


def _wrong(at: str, expected: str) -> NoReturn:
    raise RequestRejected(f"{at} must be {expected}.", code="invalid_wish", param=at)


def same(_: str, value: Json) -> Json:
    """Return *value*, which is as it is here."""
    return value


def seconds(at: str, value: Json) -> int:
    """Return a time in seconds as whole milliseconds, at most a day."""
    number = _number(value)
    if number is None or not 0 < number < math.inf:
        _wrong(at, "a time in seconds, more than 0")
    return math.ceil(min(number * 1000, _DAY_MS))


def milliseconds(at: str, value: Json) -> int:
    """Return a time in milliseconds, at most a day."""
    number = _number(value)
    if number is None or not 0 < number < math.inf:
        _wrong(at, "a time in milliseconds, more than 0")
    return math.ceil(min(number, _DAY_MS))


def _number(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def retries(at: str, value: Json) -> int:
    """Return a number of retries; a very large one is as good as a large one."""
    text = str(value)
    if isinstance(value, bool) or not (text.isascii() and text.isdigit() and len(text) < 10):
        _wrong(at, "a whole number, 0 or more")
    return min(int(text), _MOST_RETRIES)


def models(at: str, value: Json) -> list[Json]:
    """Return names of models: texts, or objects that have nothing but one."""
    if not isinstance(value, list):
        _wrong(at, "a list of model names")
    names = [_only_name(one) for one in value]
    if not all(names):
        _wrong(at, "a list of model names; messages or settings beside them are not taken")
    return list(names)


def _only_name(one: Json) -> Json:
    if isinstance(one, dict):
        one = one["model"] if set(one) == {"model"} else None
    return one if isinstance(one, str) else None


def approach(at: str, value: Json) -> str:
    """Return the technique that one of OptiLLM's approaches is."""
    name = value.strip() if isinstance(value, str) else ""
    if "&" in name or "|" in name:
        _wrong(at, "one approach: several in a row (&) or at once (|) are not carried out here")
    if name not in APPROACHES:
        _wrong(at, f"one of {', '.join(APPROACHES)}: others are not carried out here")
    return APPROACHES[name]


def switch(at: str, value: Json) -> str:
    """Return the use of stored answers that is switched on or off."""
    text = str(value).lower()
    if text not in ("true", "false"):
        _wrong(at, "true or false")
    return "on" if text == "true" else "off"


def refresh(at: str, value: Json) -> str:
    """Return the use of stored answers for which one is made anew."""
    return "refresh" if switch(at, value) == "on" else "on"


def strict_if(at: str, value: Json) -> bool:
    """Return whether nothing may be lost."""
    if not isinstance(value, bool):
        _wrong(at, "true or false")
    return value


def list_of_tags(_: str, value: Json) -> list[str]:
    """Return tags, from a list."""
    return [_plain(tag) for tag in value]


def texts_of_tags(_: str, value: Json) -> list[str]:
    """Return tags, from a text with commas."""
    return [tag.strip() for tag in str(value).split(",") if tag.strip()]


def metadata(at: str, value: Json) -> list[str]:
    """Return tags, from the JSON of an object."""
    try:
        read = orjson.loads(value) if isinstance(value, str) else value
    except orjson.JSONDecodeError:
        read = None
    if not isinstance(read, dict):
        _wrong(at, "a JSON object")
    return [f"{name}={_plain(one)}" for name, one in read.items()]


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def is_true(value: Json) -> bool:
    """Return whether something is switched on, in a header or in a body."""
    return str(value).lower() == "true"


def is_set(value: Json) -> bool:
    """Return whether something is said at all."""
    return value not in (None, False, [], {}, "")


def prefers(value: Json) -> bool:
    """Return whether OpenRouter's ``provider`` asks for more than what goes without saying."""
    asked = _object(value)
    usual = {"require_parameters", "data_collection", "zdr", "allow_fallbacks"}
    return bool(asked.keys() - usual) or asked.get("allow_fallbacks") is False


def denies(value: Json) -> bool:
    """Return whether providers that keep data are to be left out."""
    return value in ("deny", True)


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}
