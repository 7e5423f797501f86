"""Reads a message stream as a client does, and insists on its grammar."""

from __future__ import annotations

import orjson

from techniques.core.json import Json, JsonObject


def frames(raw: bytes) -> list[JsonObject]:
    """Return the data of every event; each must name its type twice."""
    found = []
    for block in raw.split(b"\n\n")[:-1]:
        if block.startswith(b":"):
            continue
        name, _, data = block.partition(b"\n")
        body = orjson.loads(data.removeprefix(b"data: "))
        assert name == b"event: " + body["type"].encode()
        found.append(body)
    return found


def shape(raw: bytes) -> list[str]:
    return [frame["type"].removeprefix("content_") for frame in frames(raw)]


def blocks(raw: bytes) -> list[Json]:
    """Collect the content as a client does."""
    content: list[Json] = []
    partial: dict[int, str] = {}
    open_at: int | None = None
    for frame in frames(raw):
        match frame["type"]:
            case "content_block_start":
                assert open_at is None
                assert frame["index"] == len(content)
                open_at = frame["index"]
                content.append(frame["content_block"])
            case "content_block_delta":
                assert frame["index"] == open_at
                grow(content[frame["index"]], frame["delta"], partial, frame["index"])
            case "content_block_stop":
                assert frame["index"] == open_at
                open_at = None
            case _:
                pass
    for place, text in partial.items():
        content[place]["input"] = orjson.loads(text)
    return content


def grow(block: Json, delta: JsonObject, partial: dict[int, str], index: int) -> None:
    if delta["type"] == "input_json_delta":
        partial[index] = partial.get(index, "") + delta["partial_json"]
    else:
        name = delta["type"].removesuffix("_delta")
        block[name] += delta[name]
