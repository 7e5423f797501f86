"""Conversations and answers that clients and models might have, and what is said in them.

What a conversation says is told in *aspects*: its texts, its images, its calls and so on, each in a
form that does not depend on a dialect. Where two conversations differ in an aspect, something was
lost between them, and one of its ``LOSSES`` must have been named.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from hypothesis import strategies as st

from pricing.usage import Usage
from techniques.core.citation import Citation, fitted
from techniques.core.events import FinishReason, Warned
from techniques.core.json import Json
from techniques.core.reply import Reply
from techniques.core.request import (
    Document,
    Image,
    Message,
    Part,
    RedactedThinking,
    Refusal,
    Request,
    ResponseFormat,
    Sampling,
    Text,
    Thinking,
    ThinkingWish,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    said,
)

_CHARACTERS: Final = st.characters(exclude_categories=["Cs"])
WORDS: Final = st.text(_CHARACTERS, min_size=1, max_size=12).filter(str.strip)
"""Texts of which something can be seen."""
BLANK: Final = st.sampled_from(["", " ", "\n\n"])
NAMES: Final = st.sampled_from(["look_up", "add_note", "get_weather"])
NUMBERS: Final = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
VALUES: Final = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(_CHARACTERS, max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(_CHARACTERS, max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
ARGUMENTS: Final = st.dictionaries(st.text(_CHARACTERS, max_size=5), VALUES, max_size=3).map(
    lambda value: json.dumps(value, ensure_ascii=False)
)
SCHEMAS: Final = st.sampled_from(
    [
        {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
        {"type": "object", "properties": {}, "additionalProperties": False},
        {"type": "object"},
    ]
)
IMAGES: Final = st.builds(
    Image,
    data=st.sampled_from(["iVBORw0KGgo=", "AAAA"]),
    media_type=st.sampled_from(["image/png", "image/jpeg"]),
    detail=st.sampled_from([None, None, "auto", "low", "high"]),
) | st.builds(
    Image,
    url=st.sampled_from(["https://a.test/b.png", "https://a.test/c d.jpg?e=f"]),
    detail=st.sampled_from([None, None, "low"]),
)
DOCUMENTS: Final = st.builds(
    Document,
    data=st.sampled_from(["JVBERi0=", "AAAA"]),
    media_type=st.just("application/pdf"),
    name=st.sampled_from(["a.pdf", "b c.pdf"]),
) | st.builds(Document, text=WORDS, name=st.none() | WORDS)
THOUGHTS: Final = st.builds(Thinking, WORDS, st.none() | st.sampled_from(["c2ln", "ZWx0"]))
USER_PARTS: Final = st.lists(
    st.builds(Text, WORDS, st.sampled_from([None, None, {"type": "ephemeral"}]))
    | BLANK.map(Text)
    | IMAGES
    | DOCUMENTS,
    min_size=1,
    max_size=3,
)


@st.composite
def _calls(draw: st.DrawFn, turn: int) -> list[ToolCall]:
    made = draw(st.lists(st.tuples(NAMES, ARGUMENTS), max_size=3))
    ids = st.sampled_from(["call_{}_{}", "toolu_{}-{}", "a{}b{}"])
    return [
        ToolCall(draw(ids).format(turn, at), name, text) for at, (name, text) in enumerate(made)
    ]


@st.composite
def _exchange(draw: st.DrawFn, turn: int) -> list[Message]:
    """Return what a user says, what is answered, and what the tools give that are called."""
    user = Message("user", tuple(draw(USER_PARTS)), draw(st.sampled_from([None, None, "ann"])))
    calls = draw(_calls(turn))
    thoughts: list[Part] = draw(st.lists(THOUGHTS, max_size=1))
    redacted = draw(st.booleans())
    if thoughts and redacted:
        thoughts.append(RedactedThinking("AAAA"))
    texts = draw(st.lists(WORDS.map(Text), min_size=0 if calls else 1, max_size=2))
    answer = Message("assistant", (*thoughts, *texts, *calls))
    results = [
        ToolResult(
            call.id,
            (Text(draw(WORDS)), *draw(st.lists(IMAGES, max_size=1))),
            is_error=draw(st.booleans()),
        )
        for call in calls
    ]
    told = [Message("tool", (result,)) for result in results]
    together = draw(st.booleans())
    if told and together:
        told = [Message("tool", tuple(results))]
    return [user, answer, *told]


@st.composite
def _messages(draw: st.DrawFn) -> tuple[Message, ...]:
    first = draw(st.lists(WORDS.map(lambda text: said("system", text)), max_size=2))
    turns = [*first]
    for turn in range(draw(st.integers(0, 3))):
        turns += draw(_exchange(turn))
        if draw(st.sampled_from([False, False, True])):
            turns.append(said(draw(st.sampled_from(["system", "developer"])), draw(WORDS)))
    if turns[len(first) :] and turns[-1].role == "tool" and draw(st.booleans()):
        return tuple(turns)
    return (*turns, said("user", draw(WORDS)))


_TOOLS: Final = st.lists(
    st.builds(
        Tool,
        NAMES,
        st.none() | WORDS,
        SCHEMAS,
        st.none() | st.booleans(),
    ),
    max_size=3,
    unique_by=lambda tool: tool.name,
)
_SAMPLING: Final = st.builds(
    Sampling,
    temperature=st.none() | st.sampled_from([0.0, 0.3, 1.0, 1.5]),
    top_p=st.none() | st.sampled_from([0.5, 1.0]),
    top_k=st.none() | st.integers(1, 50),
    max_output_tokens=st.none() | st.integers(1, 500),
    stop=st.lists(WORDS | st.just(" "), max_size=6, unique=True).map(tuple),
    seed=st.none() | st.integers(0, 9),
    presence_penalty=st.none() | st.sampled_from([0.0, 0.5]),
    frequency_penalty=st.none() | st.sampled_from([0.0, 0.5]),
)
_FORMATS: Final = (
    st.none()
    | st.just(ResponseFormat("json_object"))
    | st.builds(
        ResponseFormat,
        st.just("json_schema"),
        SCHEMAS,
        st.just("answer"),
        st.none() | st.booleans(),
        st.none() | WORDS,
    )
)


_CHOICES: Final[st.SearchStrategy[ToolChoice | None]] = st.none() | st.builds(
    ToolChoice,
    st.sampled_from(["auto", "none", "required", "named"]),
    parallel=st.none() | st.booleans(),
)
_WISHES: Final[st.SearchStrategy[ThinkingWish | None]] = st.none() | st.builds(
    ThinkingWish,
    mode=st.sampled_from(["on", "off", "adaptive", None]),
    effort=st.none() | st.sampled_from(["low", "high"]),
)
_EXTRA: Final = st.fixed_dictionaries(
    {},
    optional={
        "logit_bias": st.just({"1": -1}),
        "metadata": st.just({"a": "b"}),
        "service_tier": st.sampled_from(["auto", "default", "flex"]),
        "prompt_cache_key": st.just("k"),
        "safety_identifier": st.just("s"),
        "some_new_field": st.sampled_from([{"a": "b"}, {"1": -1}]),
    },
)


@st.composite
def conversations(draw: st.DrawFn) -> Request:
    """Return a request that somebody might make in one dialect or another."""
    tools = tuple(draw(_TOOLS))
    choice = draw(_CHOICES) if tools else None
    if choice is not None and choice.mode == "named":
        choice = replace(choice, name=tools[0].name)
    return Request(
        "m",
        draw(_messages()),
        tools,
        choice,
        draw(_FORMATS),
        draw(_SAMPLING),
        draw(_WISHES),
        user=draw(st.none() | st.sampled_from(["u-1", "someone"])),
        stream=draw(st.booleans()),
        extra=draw(_EXTRA),
    )


LOSSES: Final[Mapping[str, Sequence[tuple[str, str]]]] = {
    "system": (
        ("json_object_by_instruction", ""),
        ("system_sent_as_user", ""),
        ("system_moved", ""),
    ),
    "texts": (
        ("system_sent_as_user", ""),
        ("system_moved", ""),
        ("json_object_by_instruction", ""),
    ),
    "cache": (("cache_control_dropped", ""),),
    "wish": (("thinking_off", ""), ("field_dropped", "reasoning_effort")),
    "images": (),
    "details": (("field_dropped", "detail"),),
    "documents": (),
    "calls": (),
    "results": (),
    "thinking": (("thinking_dropped", ""),),
    "names": (("field_dropped", "name"),),
    "tools": (("field_dropped", "tools.strict"),),
    "tool_choice": (("tool_choice_relaxed", ""),),
    "format": (("json_object_by_instruction", ""), ("field_dropped", "response_format")),
    "temperature": (("temperature_clamped", ""), ("field_dropped", "temperature")),
    "top_p": (("field_dropped", "top_p"),),
    "top_k": (("field_dropped", "top_k"),),
    "max_output_tokens": (("max_tokens_raised", ""), ("field_dropped", "max_tokens")),
    "seed": (("field_dropped", "seed"),),
    "presence_penalty": (("field_dropped", "presence_penalty"),),
    "frequency_penalty": (("field_dropped", "frequency_penalty"),),
    "user": (("field_dropped", "user"),),
    "stream": (),
}
"""By aspect, the codes of the warnings that tell of a loss in it, and what their details hold."""


def unexplained(
    before: Request, after: Request, warnings: Iterable[Warned]
) -> dict[str, tuple[Json, Json]]:
    """Return in which aspects *after* says something else than *before*, and no warning tells."""
    old, new, told = aspects(before), aspects(after), tuple(warnings)
    silent = [
        name
        for name, value in before.extra.items()
        if name not in after.extra and not any(warned.detail == name for warned in told)
        if not _is_said(name, value, after)
    ]
    extra: dict[str, tuple[Json, Json]] = {"extra": (silent, [])} if silent else {}
    return extra | {
        aspect: (old[aspect], new[aspect])
        for aspect, codes in LOSSES.items()
        if old[aspect] not in (new[aspect], None)  # what nobody said an API may set
        and not any(
            warned.code == code and detail in warned.detail
            for warned in told
            for code, detail in codes
        )
    }


def _is_said(name: str, value: Json, after: Request) -> bool:
    """Tell whether the field *name* is said in another place, or asks for what is done anyway."""
    if name == "service_tier":
        return value in {"auto", "default", "standard_only"}
    if name == "reasoning":
        return bool(value == {"summary": "auto"})
    return name == "safety_identifier" and value == after.user


def _schema(parameters: Json) -> Json:
    """Return *parameters* with what is in an object told, which says nothing if nothing is.

    Whether there may be more in it is left out: who is held to what is told keeps to either.
    """
    if not isinstance(parameters, dict) or parameters.get("type") != "object":
        return parameters
    told = {"properties": {}, **parameters}
    return {name: value for name, value in told.items() if name != "additionalProperties"}


def aspects(request: Request) -> dict[str, Json]:
    """Return what *request* says, by aspect."""
    parts = [(turn, part) for turn in request.messages for part in _all_parts(turn.parts)]
    results = [part for _, part in parts if isinstance(part, ToolResult)]
    images = [part for _, part in parts if isinstance(part, Image)]
    sampling, form = request.sampling, request.response_format
    return {
        "system": _system(request.messages),
        "texts": _texts(request.messages),
        "images": [_picture(image) for image in images],
        "details": [image.detail if image.detail != "auto" else None for image in images],
        "documents": [
            (p.data, p.name) for _, p in parts if isinstance(p, Document) and p.text is None
        ],
        "calls": [
            (p.id, p.name, json.loads(p.arguments or "{}"))
            for _, p in parts
            if isinstance(p, ToolCall)
        ],
        "results": [(result.call_id, _result_text(result)) for result in results],
        "thinking": [part for _, part in parts if isinstance(part, Thinking | RedactedThinking)],
        "names": [turn.name for turn in request.messages if turn.name],
        "tools": [
            (tool.name, tool.description, _schema(tool.parameters), bool(tool.strict))
            for tool in request.tools
            if isinstance(tool, Tool)
        ],
        "tool_choice": _choice(request),
        "format": _form(form),
        **_drawn(sampling),
        "user": request.user,
        "stream": request.stream,
        "cache": [part.cache for _, part in parts if isinstance(part, Text) and part.cache],
        "wish": _is_wished(request.thinking) or None,
    }


def _drawn(sampling: Sampling) -> dict[str, Json]:
    return {
        "temperature": None if sampling.temperature == 1 else sampling.temperature,
        "top_p": None if sampling.top_p == 1 else sampling.top_p,
        "top_k": sampling.top_k,
        "max_output_tokens": sampling.max_output_tokens,
        "stop": list(sampling.stop),
        "seed": sampling.seed,
        "presence_penalty": sampling.presence_penalty or None,
        "frequency_penalty": sampling.frequency_penalty or None,
    }


def _all_parts(parts: Iterable[Part]) -> Iterator[Part]:
    for part in parts:
        yield part
        if isinstance(part, ToolResult):
            yield from _all_parts(part.parts)


def _seen(text: str) -> str:
    """Return the characters of *text* that are seen: dialects join texts by lines or by nothing."""
    return re.sub(r"\s+", "", text)


def _system(messages: Sequence[Message]) -> str:
    told = (turn.text for turn in messages if turn.role in {"system", "developer"})
    return _seen("".join(told))


def _texts(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """Return who says what, one after the other; who goes on says it in one."""
    told: list[tuple[str, str]] = []
    for turn in messages:
        role = {"developer": "system", "tool": "user"}.get(turn.role, turn.role)
        texts = [_words(part) for part in turn.parts]
        if not (words := _seen("".join(texts))):
            continue
        if told and told[-1][0] == role:
            told[-1] = (role, told[-1][1] + words)
        else:
            told.append((role, words))
    return told


def _words(part: Part) -> str:
    """Return the words of *part*; a document that is text may stand as one."""
    if isinstance(part, Document) and part.text is not None:
        return f"{part.name or ''}{part.text}"
    return part.text if isinstance(part, Text | Refusal) else ""


def _result_text(result: ToolResult) -> str:
    """Return what *result* says; that it is an error, some dialects can only say in its text."""
    text = _seen("".join(part.text for part in result.parts if isinstance(part, Text)))
    return text if text.startswith("Error:") or not result.is_error else f"Error:{text}"


def _form(form: ResponseFormat | None) -> Json:
    """Return the form of the answer; what is said of it may stand in its schema."""
    if form is None:
        return None
    schema = dict(_schema(form.schema or {}))
    inside = schema.pop("description", None)
    return form.kind, schema, form.description or inside


def _is_wished(wish: ThinkingWish | None) -> bool:
    """Return whether reasoning is asked for; as much as the model sees fit asks for nothing."""
    return wish is not None and wish.thinks and (wish.mode, wish.effort) != ("adaptive", None)


def _picture(image: Image) -> Json:
    return image.url or (image.media_type, image.data)


def _choice(request: Request) -> Json:
    choice = request.tool_choice
    if choice is None or not request.tools:
        return None
    single = choice.parallel is False and choice.mode != "none"
    if choice.mode == "auto" and not single:
        return None
    return (choice.mode, choice.name, single)


_REASONS: Final[Sequence[FinishReason]] = (
    "stop",
    "length",
    "tool_calls",
    "refusal",
    "stop_sequence",
)
_COUNTS: Final = st.integers(0, 2000)


@st.composite
def replies(draw: st.DrawFn) -> Reply:
    """Return an answer: reasoning, then text or words of refusal, then calls."""
    thought: list[Part] = draw(st.lists(THOUGHTS, max_size=2))
    words = st.text(_CHARACTERS, min_size=1)
    text: list[Part] = draw(st.lists(words.map(Text) | words.map(Refusal), max_size=1))
    refused = any(isinstance(part, Refusal) for part in text)
    calls = [] if refused else draw(_calls(0))
    reason: FinishReason = "tool_calls" if calls else draw(st.sampled_from(_REASONS))
    if (reason == "tool_calls" and not calls) or refused:
        reason = "stop"
    read, rest, output = draw(_COUNTS), draw(_COUNTS), draw(_COUNTS)
    usage = Usage(read + rest, output, cache_read_tokens=read)
    said = sum(len(part.text) for part in text if isinstance(part, Text))
    cited = fitted(draw(_citations(said)), said)
    parts = (*thought, *text, *calls)
    return Reply(parts, reason, usage=usage, id="made_1", model="m", citations=cited)


@st.composite
def _citations(draw: st.DrawFn, said: int) -> list[Citation]:
    """Return sources of a text of *said* characters."""
    if not said:
        return []
    urls = st.sampled_from(["https://a.test/b", "https://c.test"])
    places = st.tuples(st.integers(0, said), st.integers(1, said)).map(sorted)
    return [
        Citation(draw(urls), draw(st.sampled_from(["", "A b"])), start, end)
        for start, end in draw(st.lists(places, max_size=3))
    ]


def told(reply: Reply) -> dict[str, Json]:
    """Return what *reply* says that every dialect has words for."""
    usage = reply.usage or Usage()
    refused = "refusal" if reply.refusal else reply.finish_reason  # some say it in one place only
    ends = {"stop_sequence": "stop", "pause": "stop", "content_filter": "refusal"}
    return {
        "text": reply.text + reply.refusal,
        "thinking": reply.thinking,
        "calls": [(c.id, c.name, json.loads(c.arguments or "{}")) for c in reply.tool_calls],
        "finish": ends.get(refused, refused),
        "sources": sorted((one.url, one.title) for one in reply.citations),
        "usage": (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens),
    }
