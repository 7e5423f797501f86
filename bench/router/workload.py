"""A mixed workload for the simulated provider, with a grader that knows the answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random  # noqa: TID251 - seeded
from typing import Any, Final

import orjson

from techniques.core.json import Json, JsonObject

KINDS: Final = ("easy", "hard", "tool", "creative")
_CITIES: Final = ("Paris", "Lisbon", "Oslo", "Vienna", "Dublin", "Madrid", "Prague", "Athens")
_THINGS: Final = ("autumn rain", "an old lighthouse", "the first snow", "a sleeping cat", "tides")
_PLEASANTRIES: Final = (
    "Thank you, that was all for today. Please say goodbye to the team, team {n}.",
    "Good morning! Please greet the visitors of hall {n} politely.",
    "Please acknowledge that ticket {n} has been closed.",
)
_TOOL: Final[Json] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Return the weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}

_FIRST: Final = re.compile(r"[cd]0")

Grade = Callable[[JsonObject], float]


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request's body without a model, of a kind, and what its answer is worth, 0 to 1."""

    kind: str
    body: JsonObject
    grade: Grade

    def plain_worth(self, trace: Sequence[JsonObject]) -> float | None:
        """Return what the plain call's answer was worth: the first that a technique drew itself.

        *trace* is what its calls wrote, as ``expose: trace`` tells it. None: there is none.
        """
        for piece in trace:
            if _FIRST.fullmatch(piece["step"]) and piece["model"] == "small":
                return self.grade(_message(piece))
        return None


def _message(piece: JsonObject) -> JsonObject:
    if piece["kind"] != "call":
        return {"content": piece["text"]}
    name, _, arguments = piece["text"].partition(" ")
    return {"tool_calls": [{"function": {"name": name, "arguments": arguments}}]}


def prompts(number: int, seed: int) -> Iterator[Prompt]:
    """Yield *number* prompts; of five two are easy, and their order is drawn anew each five."""
    dice, order = Random(seed), ["easy", *KINDS]
    for place in range(number):
        if place % len(order) == 0:
            dice.shuffle(order)
        yield _MAKE[order[place % len(order)]](dice)


def _asked(text: str, **more: Json) -> JsonObject:
    return {"messages": [{"role": "user", "content": text}], **more}


def _easy(dice: Random) -> Prompt:
    text = dice.choice(_PLEASANTRIES).format(n=dice.randrange(10, 999))
    return Prompt("easy", _asked(text), _says_something)


def _creative(dice: Random) -> Prompt:
    text = f"Write a haiku about {dice.choice(_THINGS)} number {dice.randrange(10, 999)}."
    return Prompt("creative", _asked(text), _says_something)


def _hard(dice: Random) -> Prompt:
    one, two, three = dice.randrange(12, 99), dice.randrange(12, 99), dice.randrange(12, 99)
    right = str(one * two + three)

    def grade(message: JsonObject) -> float:
        said = str(message.get("content") or "").replace(",", "").rstrip(" .*")
        return float(said.endswith(right))

    return Prompt("hard", _asked(f"What is {one} * {two} + {three}?"), grade)


def _tool(dice: Random) -> Prompt:
    city = dice.choice(_CITIES)
    text = f"What is the weather in {city} on day {dice.randrange(10, 999)} of the year?"

    def grade(message: JsonObject) -> float:
        calls: list[Any] = message.get("tool_calls") or []
        if len(calls) != 1:
            return 0.0
        return float(orjson.loads(calls[0]["function"]["arguments"]).get("city") == city)

    return Prompt("tool", _asked(text, tools=[_TOOL]), grade)


def _says_something(message: JsonObject) -> float:
    return float(bool(str(message.get("content") or "").strip()))


_MAKE: Final[dict[str, Callable[[Random], Prompt]]] = {
    "easy": _easy,
    "hard": _hard,
    "tool": _tool,
    "creative": _creative,
}
