"""Reads the content of a message or of a tool's output: a string, or a list of parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from gateway.wire.data_urls import data_of
from gateway.wire.openai_chat.fields import required, text, thing, wrong
from gateway.wire.openai_responses.fields import others
from techniques.core.json import Json, JsonObject
from techniques.core.request import Audio, Document, Image, Part, Refusal, Text

_TEXT: Final = frozenset({"type", "text", "annotations", "logprobs"})
_IMAGE: Final = frozenset({"type", "image_url", "file_id", "detail"})
_FILE: Final = frozenset({"type", "file_data", "file_id", "file_url", "filename"})
_AUDIO: Final = frozenset({"type", "input_audio"})


def parts_of(content: Json, at: str) -> tuple[Part, ...]:
    """Return the parts of *content*; *at* is its path.

    Raises:
        RequestRejected: It is neither a string nor a list of parts of a known type.
    """
    if isinstance(content, str):
        return (Text(content),)
    if not isinstance(content, list):
        raise wrong(at, "a string or a list of content parts")
    return tuple(_part(part, f"{at}[{place}]") for place, part in enumerate(content))


def _part(part: Json, at: str) -> Part:
    if not isinstance(part, dict):
        raise wrong(at, "an object")
    kind = required(part, "type", f"{at}.")
    read = _READERS.get(kind)
    if read is None:
        raise wrong(f"{at}.type", "one of " + ", ".join(_READERS))
    return read(part, f"{at}.")


def _text(part: JsonObject, at: str) -> Part:
    return Text(_needed(part, "text", at), extra=others(part, _TEXT))


def _refusal(part: JsonObject, at: str) -> Part:
    return Refusal(_needed(part, "refusal", at))


def _needed(part: JsonObject, name: str, at: str) -> str:
    value = text(part, name, at)
    if value is None:
        raise wrong(at + name, "a string")
    return value


def _image(part: JsonObject, at: str) -> Part:
    detail = text(part, "detail", at)
    detail = None if detail == "auto" else detail  # which says nothing
    extra = others(part, _IMAGE)
    if file_id := text(part, "file_id", at):
        return Image(file_id=file_id, detail=detail, extra=extra)
    url = required(part, "image_url", at)
    if not url.startswith("data:"):
        return Image(url=url, detail=detail, extra=extra)
    data = data_of(url)
    if data is None:
        raise wrong(f"{at}image_url", "a URL or base64 data")
    media_type = data.media_type or "image/png"
    return Image(data=data.text, media_type=media_type, detail=detail, extra=extra)


def _file(part: JsonObject, at: str) -> Part:
    name, extra = text(part, "filename", at), others(part, _FILE)
    if file_id := text(part, "file_id", at):
        return Document(file_id=file_id, name=name, extra=extra)
    if url := text(part, "file_url", at):
        return Document(url=url, name=name, extra=extra)
    content = required(part, "file_data", at)
    data = data_of(content)
    return Document(
        data=data.text if data else content,
        media_type=(data.media_type if data else "") or "application/pdf",
        name=name,
        extra=extra,
    )


def _audio(part: JsonObject, at: str) -> Part:
    sound, inner = thing(part, "input_audio", at) or {}, f"{at}input_audio."
    data, form = required(sound, "data", inner), required(sound, "format", inner)
    return Audio(data, form, others(part, _AUDIO))


_READERS: Final[dict[str, Callable[[JsonObject, str], Part]]] = {
    "input_text": _text,
    "output_text": _text,
    "text": _text,
    "refusal": _refusal,
    "input_image": _image,
    "input_file": _file,
    "input_audio": _audio,
}
