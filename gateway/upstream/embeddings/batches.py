"""What is too much for one call, as several; and their answers as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import orjson

from gateway.upstream.embeddings.sheet import Sheet, grouped
from gateway.upstream.openai.payload import as_list, as_object
from techniques.core.json import Json, JsonObject
from techniques.core.request import Relay, Request

_BYTES_PER_TOKEN: Final = 2
"""Few texts have more tokens: to cut one call too many costs little, one too few is refused."""
_FRAME: Final = 2
"""Tokens that some hosts put around an input."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What one call may have at most: inputs, and tokens of all of them.

    Source: platform.openai.com/docs/api-reference/embeddings/create (2,048 and 300,000).
    """

    inputs: int = 2048
    tokens: int = 300_000


def count_of(given: Json) -> int:
    """Return how many inputs *given* is: a text, a list of tokens, or a list of such."""
    return len(given) if is_many(given) else 1


def is_many(given: Json) -> bool:
    """Return whether *given* is a list of inputs."""
    return isinstance(given, list) and bool(given) and not isinstance(given[0], int)


def most_tokens(given: Json) -> int:
    """Return what the input *given* is hardly ever more than in tokens: exactly, of tokens."""
    inputs = given if isinstance(given, list) and is_many(given) else [given]
    return sum(_tokens(one) + _FRAME for one in inputs)


def parts_of(request: Request, most: Batch) -> Sequence[Request]:
    """Return *request* as calls of *most* each, in the order of its inputs; it alone if it fits.

    An input that is too much by itself is a call by itself: its provider says so.
    """
    relay = request.relay
    given = None if relay is None else relay.body.get("input")
    if relay is None or not isinstance(given, list) or not is_many(given):
        return (request,)
    batches = list(_batches(given, most))
    if len(batches) < 2:
        return (request,)
    return [
        replace(request, step=f"{request.step}.{place}", relay=_with(relay, batch))
        for place, batch in enumerate(batches)
    ]


def joined(answers: Sequence[Sheet]) -> Iterator[bytes]:
    """Yield one answer, in pieces: the vectors of all *answers*, in order, and their usage."""
    values = [as_object(sheet.value()) for sheet in answers]
    used: JsonObject = {}
    for value in values:
        used = summed(used, as_object(value.get("usage")))
    told = {"usage": used} if used else {}
    head = {name: value for name, value in values[0].items() if name not in ("data", "usage")}
    return grouped(_written({**head, **told}, zip(values, answers, strict=True)))


def _written(head: JsonObject, answers: Iterable[tuple[JsonObject, Sheet]]) -> Iterator[bytes]:
    """Yield an answer of *head* and the rows of *answers*; no vector is read for it."""
    opened = orjson.dumps(head)[:-1]
    yield opened + (b"" if opened == b"{" else b",") + b'"data":['
    place = 0
    for value, sheet in answers:
        for row in in_order(as_list(value.get("data"))):
            vector = row.pop("embedding", None)
            written = sheet.vectors[vector] if isinstance(vector, int) else orjson.dumps(vector)
            yield b"," if place else b""
            yield orjson.dumps({**row, "index": place})[:-1] + b',"embedding":'
            yield written
            yield b"}"
            place += 1
    yield b"]}"


def summed(one: Mapping[str, Json], other: Mapping[str, Json]) -> JsonObject:
    """Return the counts of two ``usage`` objects together."""
    total = dict(one)
    for name, value in other.items():
        before = total.get(name)
        if isinstance(value, dict):
            total[name] = summed(before if isinstance(before, dict) else {}, value)
        elif type(value) in (int, float) and type(before) in (int, float):
            total[name] = before + value
        elif before is None:
            total[name] = value
    return total


def in_order(rows: Sequence[Json]) -> list[JsonObject]:
    """Return *rows* by their indexes, as they come where one has none."""
    found = [row for row in rows if isinstance(row, dict)]
    places = [row.get("index") for row in found]
    if all(type(place) is int for place in places):
        found.sort(key=lambda row: row["index"])
    return found


def _batches(given: list[Json], most: Batch) -> Iterator[list[Json]]:
    batch: list[Json] = []
    tokens = 0
    for one in given:
        size = _tokens(one)
        if batch and (len(batch) >= most.inputs or tokens + size > most.tokens):
            yield batch
            batch, tokens = [], 0
        batch.append(one)
        tokens += size
    if batch:
        yield batch


def _tokens(one: Json) -> int:
    if isinstance(one, str):
        size = len(one) if one.isascii() else len(one.encode("utf-8", "replace"))
        return -(-size // _BYTES_PER_TOKEN)
    return len(one) if isinstance(one, list) else 1


def _with(relay: Relay, batch: list[Json]) -> Relay:
    body = {**relay.body, "input": batch}
    return replace(relay, body=body, raw=orjson.dumps(body))
