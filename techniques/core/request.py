"""The one request shape inside the product, whatever dialect the client spoke.

What a dialect can say and this model has no name for is kept, unread, in ``extra`` and ``Opaque``:
an encoder of ``Request.dialect`` writes both back, every other one names them as a loss.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal, TypeAlias

from pricing.record import record
from techniques.core.json import NOTHING, Json

Role = Literal["system", "developer", "user", "assistant", "tool"]


@record(frozen=True, slots=True)
class Text:
    """Some text. ``cache`` is a prompt-cache mark (Anthropic's ``cache_control`` object)."""

    text: str
    cache: Json = None
    extra: Mapping[str, Json] = NOTHING


@record(frozen=True, slots=True)
class Image:
    """A picture: exactly one of ``url``, ``data`` (base64, with ``media_type``) and ``file_id``."""

    url: str | None = None
    data: str | None = None
    media_type: str | None = None
    file_id: str | None = None
    detail: str | None = None
    cache: Json = None
    extra: Mapping[str, Json] = NOTHING


@record(frozen=True, slots=True)
class Document:
    """A file: exactly one of ``url``, ``data`` (base64), ``text`` (plain) and ``file_id``."""

    url: str | None = None
    data: str | None = None
    text: str | None = None
    file_id: str | None = None
    media_type: str | None = None
    name: str | None = None
    cache: Json = None
    extra: Mapping[str, Json] = NOTHING


@record(frozen=True, slots=True)
class Audio:
    """Sound: ``data`` is base64, ``format`` such as ``wav``."""

    data: str
    format: str
    extra: Mapping[str, Json] = NOTHING


@record(frozen=True, slots=True)
class Thinking:
    """A model's reasoning. ``signature`` goes back to its maker byte for byte, or not at all."""

    text: str
    signature: str | None = None


@record(frozen=True, slots=True)
class RedactedThinking:
    """Reasoning that only its maker can read; ``data`` goes back byte for byte."""

    data: str


@record(frozen=True, slots=True)
class Refusal:
    """A model's words of refusal, where a dialect keeps them apart from its text."""

    text: str


@record(frozen=True, slots=True)
class ToolCall:
    """A model's wish to call a tool. ``arguments`` is JSON text as the model wrote it.

    It may be no valid JSON, or empty for a tool without parameters: ``"{}"`` is then meant.
    """

    id: str
    name: str
    arguments: str
    cache: Json = None
    extra: Mapping[str, Json] = NOTHING


@record(frozen=True, slots=True)
class ToolResult:
    """What a tool gave back for the call with ``call_id``; its ``parts`` are texts and images."""

    call_id: str
    parts: tuple[Part, ...]
    is_error: bool = False
    cache: Json = None
    extra: Mapping[str, Json] = NOTHING


@record(frozen=True, slots=True)
class Opaque:
    """A content block that only ``dialect`` knows, as it came.

    With ``thinking`` it belongs to a model's reasoning, and is no part of what it says.
    """

    dialect: str
    value: Json
    thinking: bool = False


Part: TypeAlias = (
    Text
    | Image
    | Document
    | Audio
    | Thinking
    | RedactedThinking
    | Refusal
    | ToolCall
    | ToolResult
    | Opaque
)


@record(frozen=True, slots=True)
class Message:
    """One turn of a conversation. Tool results stand in a turn of role ``tool``."""

    role: Role
    parts: tuple[Part, ...]
    name: str | None = None
    extra: Mapping[str, Json] = NOTHING

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))


def said(role: Role, text: str) -> Message:
    """Return a turn that is only *text*."""
    return Message(role, (Text(text),))


@record(frozen=True, slots=True)
class Tool:
    """A function that the model may call. ``parameters`` is a JSON schema."""

    name: str
    description: str | None = None
    parameters: Json = None
    strict: bool | None = None
    cache: Json = None
    extra: Mapping[str, Json] = NOTHING


@record(frozen=True, slots=True)
class ToolChoice:
    """Whether tools may, must or must not be called; ``name`` only with mode ``named``.

    ``parallel`` False asks for at most one call a turn; None leaves it to the model.
    """

    mode: Literal["auto", "none", "required", "named"] = "auto"
    name: str | None = None
    parallel: bool | None = None


@record(frozen=True, slots=True)
class ResponseFormat:
    """The form that the answer's text must have. ``schema`` only with kind ``json_schema``."""

    kind: Literal["json_object", "json_schema"]
    schema: Json = None
    name: str | None = None
    strict: bool | None = None
    description: str | None = None


@record(frozen=True, slots=True)
class ThinkingWish:
    """How much the model should reason before it answers.

    ``mode`` None: only ``effort`` (``none``, ``minimal`` … ``max``) was said. ``budget_tokens``
    only with mode ``on``. ``extra`` are the client's own words for it, in its dialect.
    """

    mode: Literal["off", "on", "adaptive"] | None = None
    budget_tokens: int | None = None
    effort: str | None = None
    extra: Mapping[str, Json] = NOTHING

    @property
    def thinks(self) -> bool:
        """Whether the model is to reason at all."""
        return self.effort != "none" if self.mode is None else self.mode != "off"


@record(frozen=True, slots=True)
class Sampling:
    """How to draw the answer. None: the caller left it to the model.

    ``stop`` are texts that end the answer; ``top_logprobs`` counts alternatives a token.
    """

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    max_output_tokens: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    n: int = 1
    logprobs: bool = False
    top_logprobs: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None


@record(frozen=True, slots=True)
class Relay:
    """The client's own body, to be sent on as it is to a provider of the same dialect.

    ``raw`` are the bytes received, ``body`` the same parsed, without what only the gateway reads
    (when something was taken out, ``raw`` is None). ``decode`` gives the neutral request.
    """

    dialect: str
    raw: bytes | None
    body: Mapping[str, Json]
    decode: Callable[[], Request]
    include_usage: bool = False


@record(frozen=True, slots=True)
class Request:
    """What to ask of a model.

    ``stream``: the answer is wanted in pieces. ``role`` is the part that this call plays in a
    technique (``answer``, ``judge`` …), ``step`` which one of them it is, ``strict``: a loss in
    translation is an error, ``journaled`` and ``traceparent`` its places in a journal and a trace,
    ``continues``: the last turn is the beginning of the answer. ``headers`` are the few client
    headers that a provider of ``dialect`` may see.
    With ``relay`` set, what is asked is still in the client's body; ``decoded()`` gives it in full.
    """

    model: str
    messages: tuple[Message, ...] = ()
    tools: tuple[Tool | Opaque, ...] = ()
    tool_choice: ToolChoice | None = None
    response_format: ResponseFormat | None = None
    sampling: Sampling = Sampling()
    thinking: ThinkingWish | None = None
    user: str | None = None
    stream: bool = False
    role: str = "answer"
    step: str = "0"
    strict: bool = False
    dialect: str = ""
    extra: Mapping[str, Json] = NOTHING
    headers: Mapping[str, str] = NOTHING
    relay: Relay | None = None
    journaled: str = ""
    continues: bool = False
    traceparent: str = ""

    def with_turns(self, *turns: Message) -> Request:
        """Return this request with *turns* added at the end of the conversation."""
        return replace(self, messages=(*self.messages, *turns))

    def decoded(self) -> Request:
        """Return this request in full: its relayed body decoded, if it has one.

        Raises:
            RequestRejected: The body is no request of its dialect.
        """
        if self.relay is None:
            return self
        full = self.relay.decode()
        return replace(
            full,
            model=self.model,
            stream=self.stream,
            role=self.role,
            step=self.step,
            strict=self.strict,
            headers=self.headers,
            journaled=self.journaled,
        )
