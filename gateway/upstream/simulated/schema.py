"""Makes an instance of a JSON schema, with known values where they fit."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import jsonschema_rs

from gateway.upstream.simulated.dice import Dice
from gateway.upstream.simulated.patterns import sample
from techniques.core.json import Json, JsonObject

Suggest = Callable[[str, JsonObject], list[Json]]
"""Values to try for a field of that name and schema, the best first."""

_DEEP: Final = 6
_DEEPEST: Final = 40  # no finite instance is that deep
_EXACT: Final = 2**53
_MOST: Final = 1000  # items, letters
_FORMATS: Final = {
    "date": "2024-05-17",
    "date-time": "2024-05-17T09:30:00Z",
    "time": "09:30:00Z",
    "duration": "PT15M",
    "email": "sim@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.7",
    "ipv6": "2001:db8::7",
    "uri": "https://example.com/simulated",
    "uuid": "7d444840-9dc0-41d1-b245-5ffdce74fad2",
}


def instance(schema: Json, dice: Dice, suggest: Suggest) -> Json:
    """Return a JSON value that *schema* allows.

    Known are the keywords that providers take in structured outputs; of an instance of other
    schemas nothing is promised.
    """
    return _Maker(schema, dice, suggest).make("", schema, 0)


class _Maker:
    def __init__(self, root: Json, dice: Dice, suggest: Suggest) -> None:
        self._root = root
        self._dice = dice
        self._suggest = suggest
        self._made = 0

    def make(self, name: str, given: Json, depth: int) -> Json:
        self._made += 1
        if depth > _DEEPEST:
            return None
        schema = self._resolved(given, depth)
        for value in self._suggest(name, schema):
            if self._fits(schema, value):
                return value
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return self._dice.pick(f"enum {self._made}", schema["enum"])
        return self._of_type(name, schema, depth)

    def _of_type(self, name: str, schema: JsonObject, depth: int) -> Json:
        kind = _type(schema)
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            return self._array(name, schema, depth)
        if kind in {"integer", "number"}:
            return _number(schema, whole=kind == "integer")
        if kind == "boolean":
            return self._dice.happens(f"boolean {self._made}", 0.5)
        return None if kind == "null" else _string(name, schema)

    def _resolved(self, schema: Json, depth: int) -> JsonObject:
        """Return *schema* without references and with one branch taken at each choice."""
        if not isinstance(schema, dict) or depth > _DEEPEST:
            return {}
        if isinstance(reference := schema.get("$ref"), str):
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            return self._resolved(_at(self._root, reference), depth + 1) | rest
        for word in ("anyOf", "oneOf"):
            if branches := schema.get(word):
                rest = {key: value for key, value in schema.items() if key != word}
                return _merged(rest, self._resolved(self._branch(branches, depth), depth + 1))
        if parts := schema.get("allOf"):
            whole = {key: value for key, value in schema.items() if key != "allOf"}
            for part in parts:
                whole = _merged(whole, self._resolved(part, depth + 1))
            return whole
        return schema

    def _branch(self, branches: list[Json], depth: int) -> Json:
        """Return the branch to take: not null, but when deep the one that ends soonest."""
        plain = [b for b in branches if not (isinstance(b, dict) and b.get("type") == "null")]
        if depth >= _DEEP:
            return min(branches, key=lambda branch: _weight(branch))
        return (plain or branches)[0]

    def _object(self, schema: JsonObject, depth: int) -> JsonObject:
        properties = schema.get("properties") or {}
        required = schema.get("required") or []
        names = [n for n in properties if n in required or depth < _DEEP // 2]
        made = {name: self.make(name, properties[name], depth + 1) for name in names}
        extra = schema.get("additionalProperties", True)
        missing = [name for name in required if name not in made]
        spare = (f"key{i}" for i in range(1, 1000))
        while len(made) + len(missing) < min(schema.get("minProperties", 0), _MOST - 1):
            missing.append(next(spare))
        return made | {name: self.make(name, extra, depth + 1) for name in missing}

    def _array(self, name: str, schema: JsonObject, depth: int) -> list[Json]:
        fixed = schema.get("prefixItems") or []
        rest = schema.get("items", {})
        least = min(int(schema.get("minItems", 0)), _MOST)
        wished = max(least, len(fixed), 0 if depth >= _DEEP or rest is False else 1)
        length = min(wished, int(schema.get("maxItems", wished)))
        values: list[Json] = []
        for at in range(length):
            item = fixed[at] if at < len(fixed) else rest
            values.append(self.make(name if at == 0 else "", item, depth + 1))
        return _distinct(values, rest) if schema.get("uniqueItems") else values

    def _fits(self, schema: JsonObject, value: Json) -> bool:
        root = self._root if isinstance(self._root, dict) else {}
        shared = {key: root[key] for key in ("$defs", "definitions") if key in root}
        try:
            return jsonschema_rs.is_valid(shared | schema, value)
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError):
            return False


def _at(root: Json, reference: str) -> Json:
    place = root
    for step in reference.removeprefix("#").strip("/").split("/"):
        if step and isinstance(place, dict):
            place = place.get(step.replace("~1", "/").replace("~0", "~"), {})
    return place


def _merged(one: JsonObject, other: JsonObject) -> JsonObject:
    both = one | other
    if "properties" in one and "properties" in other:
        both["properties"] = one["properties"] | other["properties"]
    if "required" in one and "required" in other:
        both["required"] = [*one["required"], *other["required"]]
    return both


def _weight(branch: Json) -> int:
    return len(str(branch)) + (1000 if "$ref" in str(branch) else 0)


def _type(schema: JsonObject) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((k for k in kind if k != "null"), "null")
    if isinstance(kind, str):
        return kind
    clues = {"properties": "object", "required": "object", "items": "array", "prefixItems": "array"}
    clues |= {"minimum": "number", "maximum": "number", "multipleOf": "number"}
    return next((kind for clue, kind in clues.items() if clue in schema), "string")


def _number(schema: JsonObject, *, whole: bool) -> float:
    step = schema.get("multipleOf") or (1 if whole else 0)
    low = schema.get("minimum", -math.inf)
    high = schema.get("maximum", math.inf)
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    gap = step or 1e-3
    if above is not None:
        low = max(low, above + gap if step else _between(above, min(high, below or math.inf)))
    if below is not None:
        high = min(high, below - gap if step else _between(max(low, above or -math.inf), below))
    value: float = min(max(1, low), high)
    if step and abs(value) < _EXACT * step:
        value = math.ceil(value / step) * step
        value = value if value <= high else math.floor(high / step) * step
    if abs(value) >= _EXACT:  # JSON writers know no longer integers
        return float(value)
    return int(value) if whole or value == int(value) else value


def _between(low: float, high: float) -> float:
    if math.isinf(low):
        return high - 1
    return low + 1 if math.isinf(high) else (low + high) / 2


def _string(name: str, schema: JsonObject) -> str:
    if (pattern := schema.get("pattern")) and (found := sample(pattern)) is not None:
        return found
    text = _FORMATS.get(schema.get("format", ""), f"simulated {name}".strip())
    least, most = min(schema.get("minLength", 0), _MOST), schema.get("maxLength")
    while len(text) < least:
        text += "." if len(text) % 8 else " "
    return text if most is None else text[: int(most)]


def _distinct(values: list[Json], items: Json) -> list[Json]:
    """Return *values* with repeated numbers counted up, repeated texts numbered, others dropped."""
    options = items.get("enum") if isinstance(items, dict) else None
    if options:
        return list(options[: len(values)])
    made: list[Json] = []
    for at, value in enumerate(values):
        if value not in made:
            made.append(value)
        elif isinstance(value, str):
            made.append(f"{value} {at}")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            made.append(max(made) + 1)
    return made
