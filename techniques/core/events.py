"""The one response shape inside the product: a stream of events.

A well-formed stream is an optional ``Started``, any number of pieces, notes, warnings and usage
reports, then exactly one ``Finished``. A reply that was never streamed takes the same form (see
``reply.unfold``), so no code below the wire has a streaming and a non-streaming branch. Further
answers, where more than one is wanted, are such streams too, each event wrapped in a ``Choice``,
and all of them come before the ``Finished``.

Pieces of the answer stand in the order in which the model gave them. A run of deltas of one kind
is one part; ``Signed`` closes the thinking before it, a ``ToolCallStarted`` opens a new call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

from pricing.record import record
from pricing.usage import Usage
from techniques.core.citation import Citation
from techniques.core.json import NOTHING, Json
from techniques.core.request import Opaque

FinishReason = Literal[
    "stop", "stop_sequence", "length", "tool_calls", "content_filter", "refusal", "pause"
]
"""Why a model stopped. ``refusal``: it declined (Anthropic). ``pause``: it wants to be asked
again with what it said so far (Anthropic's ``pause_turn``)."""
TracedKind = Literal["text", "thinking", "refusal", "call"]
"""What a sub-call's text is: its answer, its reasoning, a refusal that is kept apart, or a tool
call (the tool's name, then its arguments)."""


@record(frozen=True, slots=True)
class Started:
    """The provider began to answer; ``id`` and ``model`` are its own names, "" if it gave none.

    ``fingerprint`` names the system that answers (OpenAI's ``system_fingerprint``).
    """

    id: str = ""
    model: str = ""
    fingerprint: str = ""


@record(frozen=True, slots=True)
class TextDelta:
    """Some more of the answer's text.

    ``logprobs`` are those of its tokens: OpenAI's ``logprobs`` object of the chunk, with
    non-finite numbers already replaced.
    """

    text: str
    logprobs: Json = None


@record(frozen=True, slots=True)
class ThinkingDelta:
    """Some more of the model's reasoning. An empty text opens a block that may stay empty."""

    text: str


@record(frozen=True, slots=True)
class Signed:
    """The signature of the thinking before it: the block is complete."""

    signature: str


@record(frozen=True, slots=True)
class Redacted:
    """A whole block of reasoning that only its maker can read."""

    data: str


@record(frozen=True, slots=True)
class RefusalDelta:
    """Some more of a refusal that the provider keeps apart from the text.

    ``logprobs`` are those of its tokens, as of a ``TextDelta``.
    """

    text: str
    logprobs: Json = None


@record(frozen=True, slots=True)
class Cited:
    """A source of what was said: it comes when all of that has come."""

    citation: Citation


@record(frozen=True, slots=True)
class ToolCallStarted:
    """A tool call begins; ``index`` counts the calls of this answer from 0.

    ``extra`` is what only its dialect knows of it, such as the signature of the thinking before it.
    """

    index: int
    id: str
    name: str
    extra: Mapping[str, Json] = NOTHING


@record(frozen=True, slots=True)
class ToolCallDelta:
    """Some more of the arguments' JSON text of the call with ``index``, and of its ``extra``."""

    index: int
    arguments: str
    extra: Mapping[str, Json] = NOTHING


@record(frozen=True, slots=True)
class BlockAdded:
    """A whole block that only its own dialect knows."""

    block: Opaque


@record(frozen=True, slots=True)
class UsageReported:
    """Tokens used by this call so far: a running total, so the last report counts.

    ``mode`` is what the provider calls the way in which it serves the call, empty if it does not
    tell. ``charged`` is what it says that the call costs, in picodollars. ``searches`` is how often
    it searched the web.
    """

    usage: Usage
    mode: str = ""
    charged: int | None = None
    searches: int = 0


@record(frozen=True, slots=True)
class Note:
    """Something worth recording that is no part of the answer, such as a vote count.

    ``topic`` ``progress`` tells a waiting client how a technique gets on.
    """

    topic: str
    data: Mapping[str, Json]


@record(frozen=True, slots=True)
class Warned:
    """Something that the caller should know and that stopped nothing.

    ``code`` is a stable snake_case name, ``detail`` what it was about (a field, a model).
    """

    code: str
    detail: str = ""


@record(frozen=True, slots=True)
class Provisional:
    """The best answer so far, in full; what is committed in the end may be another.

    No part of the answer. It is for clients that would rather see something early.
    """

    text: str


@record(frozen=True, slots=True)
class Traced:
    """Some more text of a technique's sub-call, for clients that want to look inside.

    No part of the answer. ``step`` names the call within its run, ``role`` what it is for,
    ``model`` who was asked.
    """

    step: str
    role: str
    model: str
    text: str
    kind: TracedKind = "text"


class Relayed(NamedTuple):
    """Bytes of the provider's own answer, for the client to receive unchanged.

    ``characters`` is the length of the answer's text in them, for an estimate of its tokens when
    the provider counts none.
    """

    raw: bytes
    characters: int = 0


@record(frozen=True, slots=True)
class Finished:
    """The end, and why the model stopped; ``stop_sequence`` is the stop text it met, if told.

    ``raw`` is the provider's own terminal frame of a relayed stream, if it sent one. ``details``
    is what clients of its own dialect are told of the reason (Anthropic's ``stop_details``).
    """

    reason: FinishReason = "stop"
    stop_sequence: str | None = None
    raw: bytes = b""
    details: Json = None


Piece: TypeAlias = (
    TextDelta
    | ThinkingDelta
    | Signed
    | Redacted
    | RefusalDelta
    | Cited
    | ToolCallStarted
    | ToolCallDelta
    | BlockAdded
    | Relayed
)
"""An event that carries some of the answer."""


@record(frozen=True, slots=True)
class Choice:
    """An *event* of a further answer, beside the one that the stream is about.

    ``index`` counts from 1: the stream's own answer is choice 0.
    """

    index: int
    event: Event


Event: TypeAlias = (
    Started | Piece | UsageReported | Note | Warned | Provisional | Traced | Choice | Finished
)
