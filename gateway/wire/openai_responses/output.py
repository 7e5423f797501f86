"""The items of an answer, as they stand in a response."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from gateway.wire.openai_responses.fields import NAME, is_free_form_tool
from gateway.wire.openai_responses.namespaces import Own, group_of, own_names, owned, plain
from gateway.wire.openai_responses.reasoning import encrypted, redacted
from gateway.wire.openai_responses.searches import CALL, is_search_tool, offered, searched
from techniques.core.carried import carrying, parted
from techniques.core.citation import Citation, within
from techniques.core.free_form import unwrapped
from techniques.core.json import Json, JsonObject
from techniques.core.reply import Reply
from techniques.core.request import (
    Opaque,
    Part,
    RedactedThinking,
    Refusal,
    Text,
    Thinking,
    ToolCall,
)
from techniques.core.tool_search import TYPE as SEARCH

CallKind = Literal["function_call", "custom_tool_call", "tool_search_call"]
_PREFIXES: Final[Mapping[CallKind, str]] = {
    "function_call": "fc",
    "custom_tool_call": "ctc",
    "tool_search_call": "tsc",
}
Status = Literal["in_progress", "completed", "incomplete"]
_LONGEST: Final = 48  # of 64 characters that an item's id may have
_Spoken: Final = Text | Refusal


class Names(NamedTuple):
    """Names the items of one response, by their places in it.

    ``base`` is the response's own name, ``kinds`` what calls of tools are that are no functions,
    ``own`` what the client calls the tools of groups.
    """

    base: str
    kinds: Mapping[str, CallKind] = MappingProxyType({})
    own: Mapping[str, Own] = MappingProxyType({})

    def kind_of(self, tool: str) -> CallKind:
        """Return what a call of *tool* is to the client."""
        return self.kinds.get(tool, "function_call")

    def of_call(self, kind: CallKind, place: int) -> str:
        """Return the id of the call at *place*."""
        return self.of(_PREFIXES[kind], place)

    def of(self, kind: str, place: int) -> str:
        """Return the id of the item at *place*; *kind* is the prefix of its like."""
        return f"{kind}_{self.base[-_LONGEST:]}_{place}"


def names_of(base: str, asked: Mapping[str, Json]) -> Names:
    """Return the names of the response *base* to the request whose body is *asked*."""
    tools = offered(asked)
    kinds: dict[str, CallKind] = {
        name: "custom_tool_call" for name, tool in plain(tools) if is_free_form_tool(tool)
    }
    if any(map(is_search_tool, tools)):
        kinds[SEARCH] = CALL
    return Names(base, kinds, own_names(tools))


def message(item_id: str, status: Status, content: list[Json]) -> JsonObject:
    """Return what the model says."""
    return {
        "id": item_id,
        "type": "message",
        "status": status,
        "role": "assistant",
        "content": content,
    }


def output_text(text: str, logprobs: list[Json], annotations: list[Json]) -> JsonObject:
    """Return a part of a message that is text."""
    return {"type": "output_text", "text": text, "annotations": annotations, "logprobs": logprobs}


def annotation(citation: Citation, before: int) -> Json:
    """Return *citation* as one of a text with so many characters *before* it, None if it is none.

    What a file is cited for stands at one place.
    """
    own, moved = citation.own, citation.moved(-before)
    if own is None or own.dialect != NAME:
        named = {"url": citation.url, "title": citation.title}
        place = {"start_index": max(moved.start, 0), "end_index": moved.end}
        return {"type": "url_citation", **place, **named} if citation.url else None
    places = {"index": moved.start, "start_index": moved.start, "end_index": moved.end}
    return {**own.value, **{name: places[name] for name in places if name in own.value}}


def refusal(text: str) -> JsonObject:
    """Return a part of a message that refuses."""
    return {"type": "refusal", "refusal": text}


def reasoning(item_id: str, text: str, made: str | None = None) -> JsonObject:
    """Return what the model thought; *made* is what only its maker can read.

    It has no status: the API itself does not take it back with one.
    """
    summary = [{"type": "summary_text", "text": text}] if text else []
    item: JsonObject = {"id": item_id, "type": "reasoning", "summary": summary}
    return item if made is None else {**item, "encrypted_content": made}


def call(item_id: str, status: Status, called: ToolCall, kind: CallKind) -> JsonObject:
    """Return a wish to call a tool, as the client calls it: the item *kind* says what it is."""
    head: JsonObject = {"id": item_id, "type": kind, "status": status}
    named = {"call_id": called.id, "name": called.name, **group_of(called)}
    match kind:
        case "tool_search_call":
            return {**head, **searched(called)}
        case "custom_tool_call":
            return {**head, **named, "input": unwrapped(called.arguments)}
        case _:
            return {**head, **named, "arguments": called.arguments}


def call_id(called: str, names: Names, before: Sequence[Json]) -> str:
    """Return the id that a provider gave its call, one of our own if it gave none.

    *before* are the items before it: some hosts give two calls one id, and no client knows them
    apart then.
    """
    if called and all(parted(item.get("call_id") or "")[0] != called for item in before):
        return called
    return names.of(called or "call", len(before))


def tokens_of(logprobs: Json) -> list[Json]:
    """Return OpenAI's ``logprobs`` of a chat answer as this API has them, token by token."""
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    return [_token(token) for token in content or () if isinstance(token, dict)]


def _token(token: JsonObject) -> JsonObject:
    top = [_plain(one) for one in token.get("top_logprobs") or () if isinstance(one, dict)]
    return {**_plain(token), "top_logprobs": top}


def _plain(token: JsonObject) -> JsonObject:
    text = token.get("token")
    text = text if isinstance(text, str) else ""
    octets = token.get("bytes")
    octets = list(text.encode("utf-8", "replace")) if octets is None else octets
    return {"token": text, "bytes": octets, "logprob": token.get("logprob")}


def output_of(reply: Reply, names: Names, last: Status) -> list[Json]:
    """Return the items that the parts of *reply* are; the *last* may be incomplete."""
    items: list[Json] = []
    logprobs, said = reply.logprobs, 0
    for is_spoken, group in groupby(_shown(reply.parts), lambda part: isinstance(part, _Spoken)):
        if is_spoken:
            spoken: list[Text | Refusal] = [part for part in group if isinstance(part, _Spoken)]
            content = list(_content(spoken, logprobs, reply.citations, said))
            said += sum(len(part.text) for part in spoken if isinstance(part, Text))
            logprobs = None
            if content:
                items.append(message(names.of("msg", len(items)), "completed", content))
            continue
        for part in group:
            read = _WRITERS.get(type(part))
            item = None if read is None else read(part, names, items)
            if item is not None:
                items.append(item)
    if items and "status" in items[-1] and items[-1]["type"] in _CUT:
        items[-1]["status"] = last
    return items


def _shown(parts: Iterable[Part]) -> list[Part]:
    """Return those of *parts* that are shown; neighbours that a stream tells as one are one."""
    shown: list[Part] = []
    for part in parts:
        last = shown[-1] if shown else None
        if isinstance(part, Opaque) and part.dialect != NAME:
            continue
        if isinstance(part, _Spoken):
            if isinstance(last, _Spoken) and type(last) is type(part):
                shown[-1] = replace(last, text=last.text + part.text)
            elif part.text:
                shown.append(part)
        elif isinstance(part, Thinking) and isinstance(last, Thinking) and last.signature is None:
            shown[-1] = Thinking(last.text + part.text, part.signature)
        else:
            shown.append(part)
    return shown


_CUT: Final = frozenset({"message", "function_call", "custom_tool_call", CALL})


def _content(
    parts: Iterable[Text | Refusal], logprobs: Json, citations: Sequence[Citation], said: int
) -> Iterator[JsonObject]:
    """Yield what *parts* are, before which so many characters of text were *said*."""
    for part in parts:
        if isinstance(part, Refusal):
            yield refusal(part.text)
            continue
        cited = within(citations, said, said + len(part.text))
        annotations = [told for one in cited if (told := annotation(one, said))]
        yield output_text(part.text, tokens_of(logprobs), annotations)
        said, logprobs = said + len(part.text), None


def _thinking(part: Part, names: Names, before: Sequence[Json]) -> JsonObject:
    assert isinstance(part, Thinking)
    made = None if part.signature is None else encrypted(part.signature)
    return reasoning(names.of("rs", len(before)), part.text, made)


def _redacted(part: Part, names: Names, before: Sequence[Json]) -> JsonObject:
    assert isinstance(part, RedactedThinking)
    return reasoning(names.of("rs", len(before)), "", redacted(part.data))


def _call(part: Part, names: Names, before: Sequence[Json]) -> JsonObject:
    assert isinstance(part, ToolCall)
    kind = names.kind_of(part.name)
    item_id = names.of_call(kind, len(before))
    named = carrying(call_id(part.id, names, before), part.extra)
    called = owned(ToolCall(named, part.name, part.arguments or "{}"), names.own)
    return call(item_id, "completed", called, kind)


def _opaque(part: Part, names: Names, before: Sequence[Json]) -> Json:
    del names, before
    assert isinstance(part, Opaque)
    return part.value if part.dialect == NAME and isinstance(part.value, dict) else None


_WRITERS: Final[dict[type, Callable[[Part, Names, Sequence[Json]], Json]]] = {
    Thinking: _thinking,
    RedactedThinking: _redacted,
    ToolCall: _call,
    Opaque: _opaque,
}
