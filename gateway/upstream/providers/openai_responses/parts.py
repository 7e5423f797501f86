"""Turns neutral parts into the content of input items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from gateway.upstream.openai.losses import Losses, refuse
from gateway.upstream.openai.payload import as_object, as_text
from gateway.upstream.providers.openai_responses.names import DIALECT
from techniques.core.json import Json, JsonObject
from techniques.core.request import Audio, Document, Image, Opaque, Part, Refusal, Text, Tool

_PLAIN: Final = frozenset({"type", "text", "refusal"})
_OF_CONTENT: Final = ("input_", "output_text", "refusal")
"""How the types begin of what stands inside an item; all else is an item of its own."""


def is_item(part: Part) -> bool:
    """Tell whether *part* is an item of its own that only this API knows.

    Raises:
        RequestRejected: It is another dialect's.
    """
    if not isinstance(part, Opaque):
        return False
    if part.dialect != DIALECT:
        raise refuse(f"content of this kind ({kind_of(part)})", "messages")
    return not as_text(as_object(part.value).get("type")).startswith(_OF_CONTENT)


def content_of(parts: Sequence[Part], role: str, losses: Losses) -> Json:
    """Return a string where that says it all, else a list of parts.

    A list of what the model said would have to name an item of its own.
    """
    if role == "assistant" and all(isinstance(part, Text | Refusal) for part in parts):
        said = [_part(part, role, losses) for part in parts]
        if all(part.keys() <= _PLAIN for part in said):
            return "".join(as_text(part.get("text") or part.get("refusal")) for part in said)
    written = [_part(part, role, losses) for part in parts]
    if len(written) == 1 and written[0].keys() == {"type", "text"}:
        return written[0]["text"]
    return written


def output_of(parts: Sequence[Part], losses: Losses, *, is_error: bool) -> Json:
    """Return what a tool gave back: a string where that says it all, else a list of parts."""
    if is_error:
        parts = [Text("Error: "), *parts]
    if all(isinstance(part, Text) and not part.extra for part in parts):
        for part in parts:
            _mark(part, losses)
        joined = "" if is_error else "\n"
        return joined.join(part.text for part in parts if isinstance(part, Text))
    return [_part(part, "tool", losses) for part in parts]


def _part(part: Part, role: str, losses: Losses) -> JsonObject:
    match part:
        case Text():
            kind = "output_text" if role == "assistant" else "input_text"
            written: JsonObject = {"type": kind, "text": part.text}
        case Image():
            written = _image(part, losses)
        case Document():
            written = _document(part, losses)
        case Audio():
            sound = {"data": part.data, "format": part.format}
            written = {"type": "input_audio", "input_audio": sound}
        case Refusal():
            return {"type": "refusal", "refusal": part.text}
        case Opaque(dialect=dialect, value=dict(value)) if dialect == DIALECT:
            return dict(value)
        case _:
            raise refuse(f"content of this kind ({kind_of(part)})", "messages")
    _mark(part, losses)
    return {**written, **losses.keep(part.extra)}


def _mark(part: Part, losses: Losses) -> None:
    """Lose the prompt-cache mark of *part*: this API caches by itself."""
    if getattr(part, "cache", None) is not None:
        losses.drop("cache_control_dropped", "cache_control")


def kind_of(part: Part | Tool) -> str:
    """Return what *part* is, in a word."""
    if isinstance(part, Opaque) and isinstance(part.value, Mapping):
        return str(part.value.get("type"))
    return type(part).__name__.lower()


def _image(image: Image, losses: Losses) -> JsonObject:
    written: JsonObject = {"type": "input_image"}
    if image.file_id is not None:
        written["file_id"] = _own_file(image.file_id, "images", losses)
    elif image.data is not None:
        written["image_url"] = f"data:{image.media_type or 'image/png'};base64,{image.data}"
    else:
        written["image_url"] = image.url
    written["detail"] = image.detail or "auto"
    return written


def _document(document: Document, losses: Losses) -> JsonObject:
    if document.text is not None:
        title = f"{document.name}\n\n" if document.name else ""
        return {"type": "input_text", "text": title + document.text}
    file: JsonObject = {"type": "input_file"}
    if document.name:
        file["filename"] = document.name
    if document.data is not None:
        media_type = document.media_type or "application/pdf"
        own = document.data.startswith("data:")
        file["file_data"] = document.data if own else f"data:{media_type};base64,{document.data}"
        file.setdefault("filename", "document.pdf")
    elif document.file_id is not None:
        file["file_id"] = _own_file(document.file_id, "documents", losses)
    else:
        file["file_url"] = document.url
    return file


def _own_file(file_id: str, what: str, losses: Losses) -> str:
    if not losses.native:
        raise refuse(f"{what} by file id", "messages")
    return file_id
