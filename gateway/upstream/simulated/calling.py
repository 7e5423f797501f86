"""Tool calls: whether the last turn suggests one, and with which arguments."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import orjson

from gateway.upstream.simulated import arithmetic, facts, prose
from gateway.upstream.simulated.asked import Asked
from gateway.upstream.simulated.dice import Dice
from gateway.upstream.simulated.pieces import CallMade, Draft
from gateway.upstream.simulated.schema import instance
from gateway.upstream.simulated.settings import SimulatedModel
from techniques.core.json import Json, JsonObject

_GENERIC: Final = frozenset(
    {"get", "set", "fetch", "find", "list", "make", "call", "run", "tool", "function", "current"}
    | {"lookup", "search", "return", "returns", "given", "value", "values", "information", "data"}
)
_NAME = r"[A-Z][\w'-]+(?: [A-Z][\w'-]+)*"
_PLACES = re.compile(
    rf"\b(?:in|for|of|at|to|from|between)\s+({_NAME}(?:(?:,? and |, | or ){_NAME})*)"
)
_QUOTED = re.compile(r"\"([^\"\n]{1,200})\"|'([^'\n]{1,200})'(?!\w)|`([^`\n]{1,200})`")
_NUMBER = re.compile(r"(?<![\w.])-?\d{1,15}(?:\.\d{1,9})?(?![\w.]\d|\w)")
_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_MAIL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.]+")
_MOST_CALLS = 4
_TAG = re.compile(r"^<([a-z][\w-]*)>|</([a-z][\w-]*)>", re.M)
_LONGEST = 8000  # characters; of a longer turn only the end is looked at


@dataclass(frozen=True, slots=True)
class _Found:
    """What a prompt offers for arguments."""

    prompt: str
    names: list[str]
    quoted: list[str]
    numbers: list[Json]


def draft(asked: Asked, model: SimulatedModel, dice: Dice) -> Draft | None:
    """Return an answer that calls tools, None if none should be called."""
    chosen = _chosen(asked)
    if not chosen:
        return None
    found = _read(_own_words(asked.last_user)[-_LONGEST:])
    wrong = dice.happens("tool error", model.error_rate)
    calls: list[CallMade] = []
    for tool in chosen:
        for name in _targets(tool, found, asked) or [None]:
            at = dice.fork(f"call {len(calls)}")
            arguments = _arguments(tool, found, name, at.fork("wrong") if wrong else None)
            call_id = f"call_{at.text('id', 24)}"
            calls.append(CallMade(call_id, tool["name"], orjson.dumps(arguments).decode()))
    return Draft(None, tuple(calls[:_MOST_CALLS]), "tool_calls", sure=not wrong)


def after_results(asked: Asked, dice: Dice) -> Draft | None:
    """Return an answer made of the tool results that end the conversation, None without them."""
    results: list[str] = []
    for turn in reversed(asked.turns):
        if turn.role not in {"tool", "function"}:
            break
        results.insert(0, " ".join(turn.text.split()) or "nothing")
    if not results or asked.tool_choice == "required" or isinstance(asked.tool_choice, dict):
        return None
    opening = dice.pick("opening", ("The tool returned", "According to the tool,", "Result:"))
    return Draft(f"{opening} {'; '.join(results)}")


def _chosen(asked: Asked) -> list[JsonObject]:
    choice = asked.tool_choice
    if not asked.tools or choice == "none":
        return []
    if isinstance(choice, dict):
        wanted = (choice.get("function") or {}).get("name")
        return [tool for tool in asked.tools if tool["name"] == wanted][:1]
    prompt = _own_words(asked.last_user)
    scores = [(_score(tool, prompt), tool) for tool in asked.tools]
    best = [tool for score, tool in sorted(scores, key=lambda pair: -pair[0]) if score >= 2]
    if not best and choice == "required":
        best = [max(scores, key=lambda pair: pair[0])[1]]
    return best if asked.parallel else best[:1]


def _own_words(prompt: str) -> str:
    """Return *prompt* without what agents put beside their user's words, between tags.

    ``<system-reminder>…</system-reminder>`` is such; where nothing else is said, all of it counts.
    """
    kept: list[str] = []
    start, name = 0, None
    for tag in _TAG.finditer(prompt):
        if name is None and tag[1]:
            kept.append(prompt[start : tag.start()])
            start, name = tag.start(), tag[1]
        elif name is not None and tag[2] == name:
            start, name = tag.end(), None
    words = "".join(kept) + prompt[start:]
    return words if words.strip() else prompt


def _score(tool: JsonObject, prompt: str) -> int:
    said = _words(prompt)
    name = _words(re.sub(r"([a-z])([A-Z])", r"\1 \2", tool["name"]).replace("_", " ")) - _GENERIC
    described = _words(str(tool.get("description") or "")) - _GENERIC
    exact = 10 if re.search(rf"\b{re.escape(tool['name'])}\b", prompt) else 0
    return exact + 2 * len(name & said) + len((described - name) & said)


def _words(text: str) -> set[str]:
    words = re.findall(r"[a-z]{3,}", text.lower())
    return {word.rstrip("s") for word in words if word not in prose.STOPWORDS}


def _read(prompt: str) -> _Found:
    names: list[str] = []
    for group in _PLACES.findall(prompt):
        names += re.split(r",? and |, | or ", group)
    quoted = [next(filter(None, groups)) for groups in _QUOTED.findall(prompt)]
    numbers: list[Json] = [float(n) if "." in n else int(n) for n in _NUMBER.findall(prompt)]
    return _Found(prompt, list(dict.fromkeys(names)), quoted, numbers)


def _targets(tool: JsonObject, found: _Found, asked: Asked) -> list[str | None]:
    """Return the names that *tool* is to be called with, one a call."""
    properties = (tool.get("parameters") or {}).get("properties") or {}
    texts = [p for p in properties.values() if isinstance(p, dict) and p.get("type") == "string"]
    open_texts = [p for p in texts if "enum" not in p]
    if len(found.names) > 1 and len(open_texts) == 1 and asked.parallel:
        return list(found.names)
    return []


def _arguments(tool: JsonObject, found: _Found, target: str | None, wrong: Dice | None) -> Json:
    names = [target] if target else list(found.names)
    pools = _Found(found.prompt, names, list(found.quoted), list(found.numbers))

    def suggest(name: str, field: JsonObject) -> list[Json]:
        if "enum" in field:
            said = found.prompt.lower()
            return [o for o in field["enum"] if isinstance(o, str) and o.lower() in said]
        kind = field.get("type")
        if kind in {"integer", "number"} and pools.numbers:
            value = pools.numbers.pop(0)
            return [value + 1 if wrong else value, value]
        texts = _texts(name.lower(), pools) if kind == "string" else []
        if wrong and texts and texts[0] in {target, *found.names}:
            return [wrong.pick("city", tuple(facts.CAPITALS.values()))]
        return texts

    parameters = tool.get("parameters") or {"type": "object", "properties": {}}
    return instance(parameters, Dice(found.prompt, tool["name"]), suggest)


def _texts(name: str, pools: _Found) -> list[Json]:
    for pattern, read in _SPECIAL:
        if pattern.search(name):
            return read(pools.prompt)
    named_first = bool(_PLACE.search(name))
    for pool in (pools.names, pools.quoted) if named_first else (pools.quoted, pools.names):
        if pool:
            return [pool.pop(0)]
    return [prose.topic(pools.prompt)]


def _calculations(prompt: str) -> list[Json]:
    found = arithmetic.find(prompt)
    return [found[0]] if found else []


_PLACE = re.compile(r"city|location|place|country|town|origin|dest")
_SPECIAL: Final[tuple[tuple[re.Pattern[str], Callable[[str], list[Json]]], ...]] = (
    (re.compile(r"date|day"), _DATE.findall),
    (re.compile(r"mail"), _MAIL.findall),
    (re.compile(r"expression|formula|calc|equation"), _calculations),
)
