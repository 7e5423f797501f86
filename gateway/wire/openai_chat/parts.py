"""Reads the content of a turn: a string, or a list of parts."""

from __future__ import annotations

from gateway.wire.data_urls import data_of
from gateway.wire.openai_chat.fields import NAME, required, rest, text, thing, wrong
from techniques.core.json import Json, JsonObject
from techniques.core.request import Audio, Document, Image, Opaque, Part, Refusal, Text


def parts_of(content: Json, at: str) -> tuple[Part, ...]:
    """Return the parts of *content*; *at* is its path.

    Raises:
        RequestRejected: It is neither a string, nor a list of objects with a type, nor null.
    """
    if isinstance(content, str):
        return (Text(content),)
    if content is None:
        return ()
    if not isinstance(content, list):
        raise wrong(at, "a string or a list of content parts")
    return tuple(_part(part, f"{at}[{place}]") for place, part in enumerate(content))


def _part(part: Json, at: str) -> Part:
    if not isinstance(part, dict):
        raise wrong(at, "an object")
    kind = required(part, "type", f"{at}.")
    cache = part.get("cache_control")
    extra = rest(part, frozenset({"type", "cache_control", kind}))
    match kind:
        case "text":
            read: Part = Text(_needed(part, "text", at), cache, extra)
        case "refusal":
            read = Refusal(_needed(part, "refusal", at))
        case "image_url":
            read = _image(part, at, extra)
        case "input_audio":
            read = _audio(part, at, extra)
        case "file":
            read = _document(part, at, extra)
        case _:
            read = Opaque(NAME, part)
    return read


def _audio(part: JsonObject, at: str, extra: JsonObject) -> Audio:
    sound = thing(part, "input_audio", f"{at}.") or {}
    inner = f"{at}.input_audio."
    return Audio(required(sound, "data", inner), required(sound, "format", inner), extra)


def _needed(part: JsonObject, name: str, at: str) -> str:
    value = text(part, name, f"{at}.")
    if value is None:
        raise wrong(f"{at}.{name}", "a string")
    return value


def _image(part: JsonObject, at: str, extra: JsonObject) -> Image:
    picture = part.get("image_url")
    picture = {"url": picture} if isinstance(picture, str) else picture
    if not isinstance(picture, dict):
        raise wrong(f"{at}.image_url", "an object")
    url = required(picture, "url", f"{at}.image_url.")
    detail = text(picture, "detail", f"{at}.image_url.")
    cache = part.get("cache_control")
    if not url.startswith("data:"):
        return Image(url=url, detail=detail, cache=cache, extra=extra)
    data = data_of(url)
    if data is None:
        raise wrong(f"{at}.image_url.url", "a URL or base64 data")
    media_type = data.media_type or "image/png"
    return Image(data=data.text, media_type=media_type, detail=detail, cache=cache, extra=extra)


def _document(part: JsonObject, at: str, extra: JsonObject) -> Document:
    file = thing(part, "file", f"{at}.") or {}
    inner = f"{at}.file."
    name = text(file, "filename", inner)
    cache = part.get("cache_control")
    if file_id := text(file, "file_id", inner):
        return Document(file_id=file_id, name=name, cache=cache, extra=extra)
    content = required(file, "file_data", inner)
    data = data_of(content)
    return Document(
        data=data.text if data else content,
        media_type=(data.media_type if data else "") or "application/pdf",
        name=name,
        cache=cache,
        extra=extra,
    )
