"""How much text, and how many images and sounds, a request carries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from techniques.core.json import Json
from techniques.core.request import (
    Audio,
    Document,
    Image,
    Opaque,
    Part,
    Request,
    Text,
    Tool,
    ToolCall,
    ToolResult,
)

_IMAGES: Final = ("image", "image_url", "input_image")


class Weight(NamedTuple):
    """Bytes of text; how many images and sounds."""

    text: int = 0
    images: int = 0
    sounds: int = 0


def weigh(value: Json) -> Weight:
    """Return what any JSON *value* holds; what is inside an image or a sound is not looked at."""
    size, images, sounds = 0, 0, 0
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            size += _bytes(item) + 2
        elif isinstance(item, list):
            waiting += item
        elif isinstance(item, dict):
            match item.get("type"):
                case str() as kind if kind in _IMAGES:
                    images += 1
                case "input_audio":
                    sounds += 1
                case _:
                    size += sum(map(len, item))
                    waiting += item.values()
        else:
            size += 4
    return Weight(size, images, sounds)


def weigh_body(body: Mapping[str, Json], size: int) -> Weight:
    """Return what *body* holds that came as *size* bytes, without looking at its texts."""
    images, sounds = 0, 0
    for block in _blocks(body):
        match block.get("type"):
            case str() as kind if kind in _IMAGES:
                images += 1
            case "input_audio":
                sounds += 1
            case _:
                continue
        size -= _long(block)
    return Weight(max(size, 0), images, sounds)


def _blocks(body: Mapping[str, Json]) -> Iterator[Mapping[str, Json]]:
    """Yield the content blocks of the turns of *body*, those within results of tools too.

    Ollama's turns have images beside their text.
    """
    turns = body.get("messages") or body.get("input")
    for turn in turns if isinstance(turns, list) else ():
        if not isinstance(turn, dict):
            continue
        if "images" in turn and isinstance(turn["images"], list):
            yield from ({"type": "image", "data": shown} for shown in turn["images"])
        content = turn.get("content") or turn.get("output")
        if isinstance(content, list):
            for block in content:
                if isinstance(block, dict):
                    yield block
                    inner = block.get("content")
                    if isinstance(inner, list):
                        yield from (each for each in inner if isinstance(each, dict))


def _long(block: Mapping[str, Json]) -> int:
    """Return the length of the longest text in *block*, or in an object in it."""
    longest = 0
    for value in block.values():
        for text in value.values() if isinstance(value, dict) else (value,):
            if isinstance(text, str) and len(text) > longest:
                longest = len(text)
    return longest


def weigh_request(request: Request) -> Weight:
    """Return what *request* holds, which is spelled out; a document counts as it is encoded."""
    shape = request.response_format
    size = 0 if shape is None else weigh(shape.schema).text
    for tool in request.tools:
        size += _tool(tool)
    images, sounds = 0, 0
    for message in request.messages:
        text, pictures, spoken = _parts(message.parts)
        size, images, sounds = size + text, images + pictures, sounds + spoken
    return Weight(size, images, sounds)


def _parts(parts: Iterable[Part]) -> tuple[int, int, int]:
    size, images, sounds = 0, 0, 0
    for part in parts:
        if isinstance(part, Text):
            size += _bytes(part.text)
            continue
        text, pictures, spoken = _part(part)
        size, images, sounds = size + text, images + pictures, sounds + spoken
    return size, images, sounds


def _part(part: Part) -> tuple[int, int, int]:
    match part:
        case Image():
            return (0, 1, 0)
        case Audio():
            return (0, 0, 1)
        case ToolResult():
            return _parts(part.parts)
        case Opaque():
            return weigh(part.value)
        case _:
            return (_bytes(_words(part)), 0, 0)


def _words(part: Part) -> str:
    match part:
        case ToolCall():
            return part.name + part.arguments
        case Document():
            return part.text or part.data or ""
        case _:
            text: str = getattr(part, "text", "") or getattr(part, "data", "")
            return text


def _tool(tool: Tool | Opaque) -> int:
    if isinstance(tool, Opaque):
        return weigh(tool.value).text
    return len(tool.name) + len(tool.description or "") + weigh(tool.parameters).text


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
