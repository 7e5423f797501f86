"""Writes neutral turns and tools as this API has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gateway.upstream.openai.ids import OF_CHAT, shortened
from gateway.upstream.openai.losses import Losses, refuse, refuse_tool
from gateway.upstream.openai.payload import as_object
from gateway.upstream.openai.quoted import readable
from gateway.upstream.providers.openai_chat.payload import DIALECT
from gateway.upstream.results import together
from gateway.upstream.shared import CACHE_MARKS
from techniques.core.carried import FIELDS
from techniques.core.free_form import is_free_form
from techniques.core.json import Json, JsonObject
from techniques.core.request import (
    Audio,
    Document,
    Image,
    Message,
    Opaque,
    Part,
    RedactedThinking,
    Refusal,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
)
from techniques.core.signatures import details_of

_JOINED = {"system": "\n\n", "developer": "\n\n", "tool": "\n", "assistant": ""}
_SEE_NEXT = "(The result is in the next message.)"


def turns_of(messages: Sequence[Message], losses: Losses) -> list[JsonObject]:
    """Return *messages* as this API's; results become turns of their own, behind their calls."""
    told = messages if losses.native else together(messages)
    return [turn for message in readable(told) for turn in _turns(message, losses)]


def _turns(message: Message, losses: Losses) -> Iterator[JsonObject]:
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    others = [part for part in message.parts if not isinstance(part, ToolResult)]
    head = {**losses.keep(message.extra), **({"name": message.name} if message.name else {})}
    moved: list[JsonObject] = []
    for result in results:
        yield {**head, **_result(result, moved, losses)}
    if moved:
        yield {"role": "user", "content": moved}
    if message.role == "assistant":
        yield {**_assistant(others, losses, message), **head}
    elif others or not results:
        role = "user" if message.role == "tool" else message.role
        yield {"role": role, "content": _content(others, role, losses), **head}


def _result(result: ToolResult, moved: list[JsonObject], losses: Losses) -> JsonObject:
    """Return the tool's turn; what only a user's turn can hold is added to *moved*."""
    texts = [part for part in result.parts if isinstance(part, Text)]
    media = [part for part in result.parts if not isinstance(part, Text)]
    moved.extend(_part(part, losses) for part in media)
    if not texts and media:
        texts = [Text(_SEE_NEXT)]
    if result.is_error:
        texts = [Text("Error: "), *texts]
        content: Json = "".join(part.text for part in texts)
    else:
        content = _content(texts, "tool", losses)
    mark = _cached(result.cache, losses)
    if mark and not losses.native and isinstance(content, str):
        content, mark = [{"type": "text", "text": content, **mark}], {}
    turn = {"role": "tool", "tool_call_id": _id(result.call_id, losses), "content": content}
    return {**turn, **mark, **losses.keep(result.extra)}


def _assistant(parts: Sequence[Part], losses: Losses, message: Message) -> JsonObject:
    calls = [_call(part, losses) for part in parts if isinstance(part, ToolCall)]
    refusal = "".join(part.text for part in parts if isinstance(part, Refusal))
    thoughts = [part for part in parts if isinstance(part, Thinking | RedactedThinking)]
    details = [_details(part) for part in thoughts]
    thinking = [part for part, read in zip(thoughts, details, strict=True) if read is None]
    apart = ToolCall | Refusal | Thinking | RedactedThinking
    spoken = [part for part in parts if not isinstance(part, apart)]
    turn: JsonObject = {"role": "assistant", "content": _content(spoken, "assistant", losses)}
    if not spoken and (calls or refusal):
        turn["content"] = None
    if refusal:
        turn["refusal"] = refusal
    if calls:
        turn["tool_calls"] = calls
    if (own := [detail for read in details for detail in read or ()]) and not losses.native:
        turn["reasoning_details"] = own
    if thinking and not losses.native:
        losses.drop("thinking_dropped", "thinking")
    elif thinking and "reasoning" not in message.extra:
        texts = [part.text for part in thinking if isinstance(part, Thinking)]
        turn["reasoning_content"] = "".join(texts)
    return turn


def _details(thought: Thinking | RedactedThinking) -> list[Json] | None:
    """Return the details by which a chat host told of *thought*, None if it was another maker."""
    if isinstance(thought, RedactedThinking):
        return details_of(thought.data)
    signed = details_of(thought.signature or "")
    if signed is None:
        return None
    return [{**as_object(detail), "text": thought.text} for detail in signed]


def _call(call: ToolCall, losses: Losses) -> JsonObject:
    function = {"name": call.name, "arguments": call.arguments or "{}"}
    written = {"id": _id(call.id, losses), "type": "function", "function": function}
    kept = {name: value for name, value in call.extra.items() if name in FIELDS}
    other = {name: value for name, value in call.extra.items() if name not in FIELDS}
    return {**written, **_cached(call.cache, losses), **_kept(other, losses), **kept}


def _kept(extra: Mapping[str, Json], losses: Losses) -> JsonObject:
    """Return what is kept of *extra*; a tool of free text is a function also to its own API.

    A technique asks for it so: what is drawn is compared and judged as the arguments of calls.
    """
    if losses.native and is_free_form(extra):
        losses.drop("custom_tool_as_function", "tools")
        return {}
    return losses.keep(extra)


def _id(own: str, losses: Losses) -> str:
    return own if losses.native else shortened(own, OF_CHAT)


def _content(parts: Sequence[Part], role: str, losses: Losses) -> Json:
    """Return a string where that says it all, else a list of parts."""
    written = [_part(part, losses) for part in parts]
    plain = all(part.keys() == {"type", "text"} for part in written)
    if plain and (len(written) < 2 or (role in _JOINED and not losses.native)):
        return _JOINED.get(role, "").join(part["text"] for part in written)
    return written


def _part(part: Part, losses: Losses) -> JsonObject:
    match part:
        case Text():
            written: JsonObject = {"type": "text", "text": part.text}
        case Image():
            written = {"type": "image_url", "image_url": _image(part)}
        case Document():
            written = _document(part)
        case Audio():
            sound = {"data": part.data, "format": part.format}
            written = {"type": "input_audio", "input_audio": sound}
        case Refusal():
            return {"type": "refusal", "refusal": part.text}
        case Opaque(dialect=dialect, value=dict(value)) if dialect == DIALECT:
            return dict(value)
        case _:
            raise refuse(f"content of this kind ({_kind(part)})", "messages")
    cache = None if isinstance(part, Audio) else part.cache
    return {**written, **_cached(cache, losses), **losses.keep(part.extra)}


def _kind(part: Part | Tool) -> str:
    if isinstance(part, Opaque) and isinstance(part.value, dict):
        return str(part.value.get("type"))
    return type(part).__name__.lower()


def _image(image: Image) -> JsonObject:
    if image.file_id is not None:
        raise refuse("images by file id", "messages")
    url = image.url
    if image.data is not None:
        url = f"data:{image.media_type or 'image/png'};base64,{image.data}"
    return {"url": url, **({"detail": image.detail} if image.detail else {})}


def _document(document: Document) -> JsonObject:
    if document.text is not None:
        title = f"{document.name}\n\n" if document.name else ""
        return {"type": "text", "text": title + document.text}
    file: JsonObject = {"filename": document.name} if document.name else {}
    if document.data is not None:
        media_type = document.media_type or "application/pdf"
        file["file_data"] = f"data:{media_type};base64,{document.data}"
        file.setdefault("filename", "document.pdf")
    elif document.file_id is not None:
        file["file_id"] = document.file_id
    else:
        raise refuse("documents by URL", "messages")
    return {"type": "file", "file": file}


def _cached(cache: Json, losses: Losses) -> JsonObject:
    if cache is None:
        return {}
    if losses.native or CACHE_MARKS in losses.takes:
        return {CACHE_MARKS: cache}
    losses.drop("cache_control_dropped", CACHE_MARKS)
    return {}


def tools_of(tools: Sequence[Tool | Opaque], losses: Losses) -> list[Json]:
    """Return *tools* as this API's.

    Raises:
        RequestRejected: One is of another dialect alone, such as a server's own tool.
    """
    return [_tool(tool, losses) for tool in tools]


def _tool(tool: Tool | Opaque, losses: Losses) -> Json:
    if isinstance(tool, Opaque):
        if tool.dialect != DIALECT:
            raise refuse_tool(_kind(tool))
        return tool.value
    function: JsonObject = {"name": tool.name}
    if tool.description is not None:
        function["description"] = tool.description
    if tool.parameters is not None:
        function["parameters"] = tool.parameters
    if tool.strict is not None:
        function["strict"] = tool.strict
    written = {"type": "function", "function": function}
    return {**written, **_cached(tool.cache, losses), **_kept(tool.extra, losses)}
