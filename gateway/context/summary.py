"""Has the earlier part of a conversation told in fewer words, and looks whether it may be used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from gateway.context.pins import Pins
from techniques.core.reply import Reply
from techniques.core.request import Message, Request, Sampling, said
from techniques.parts.transcript import Fence, transcript

Fault: TypeAlias = Literal["empty", "cut_off", "pins_lost", "longer"]
ROLE: Final = "summary"
_LEAST, _MOST = 192, 2048
_SHARE: Final = 3
_UNBOUNDED: Final = 10**9
_WORDS_A_TOKEN: Final = 0.6


@dataclass(frozen=True, slots=True)
class Brief:
    """What is to be told in fewer words: ``old``, of about ``tokens``; ``pins`` must be in it."""

    old: Sequence[Message]
    tokens: int
    pins: Pins
    fence: str

    def request(self, model: str) -> Request:
        """Return the request that asks *model* for it."""
        fence = Fence(self.fence)
        shown = transcript(Request(model, tuple(self.old)), _UNBOUNDED)
        passages = [_TASK, fence.notice, fence.around("conversation", shown)]
        if self.pins.sentences:
            passages += [_SAID, fence.around("sentences", "\n".join(self.pins.sentences))]
        if self.pins.values:
            passages += [_VALUES, fence.around("values", "\n".join(self.pins.values))]
        if self.pins.voice:
            passages += [_VOICE, fence.around("voice", "\n".join(self.pins.voice))]
        passages.append(_END.format(words=int(most_of(self.tokens) * _WORDS_A_TOKEN)))
        return Request(
            model,
            (said("user", "\n\n".join(passages)),),
            sampling=Sampling(max_output_tokens=most_of(self.tokens)),
            role=ROLE,
            step="summary",
        )

    def fault(self, reply: Reply) -> Fault | None:
        """Return why *reply* cannot stand for what it is of; None if it can."""
        if not reply.text.strip():
            return "empty"
        if reply.finish_reason not in ("stop", "stop_sequence"):
            return "cut_off"
        return "pins_lost" if self.pins.lost(reply.text) else None

    def note(self, reply: Reply) -> str:
        """Return what stands in the conversation in place of what *reply* sums up."""
        text = Fence(self.fence).blanked(reply.text.strip())
        note = f"{_HEAD.format(count=len(self.old))}\n\n{text}"
        if not self.pins.voice:
            return note
        return "\n".join((note, "", _SPOKE, *(f'"{one}"' for one in self.pins.voice)))


def most_of(tokens: int) -> int:
    """Return how many tokens a summary of so many *tokens* may have: a third, within bounds."""
    return min(max(tokens // _SHARE, _LEAST), _MOST)


_TASK: Final = """\
A conversation has grown too long to be carried along. Below is its earlier part. The assistant in \
it will go on from your record of that part and from the last few messages, which it keeps; \
everything else is gone for good. Write the record."""
_SAID: Final = "These sentences of it carry what matters most; what they say must be in the record:"
_VALUES: Final = """\
Each of these lines is a number, a name of something or an address that will be needed. Every one \
must be in the record, written exactly so, together with what it belongs to:"""
_VOICE: Final = """\
So the assistant speaks. Do not copy these; they are kept beside your record. Tell in a few words \
how it addresses the user, if that is out of the ordinary:"""
_END: Final = """\
Tell, in the language of the conversation: what the user wants and what is still open; what was \
found out, decided, agreed, tried and ruled out; which rules and limits were set, with their exact \
bounds; which tools were used for what, and what came of it. Leave out courtesies, repetitions and \
what was taken back later. Add nothing that is not there, draw no conclusions, and answer nobody. \
At most {words} words, and nothing but the record."""
_HEAD: Final = """\
[Record of the {count} earlier messages of this conversation, which had grown too long. It tells \
what was said; it asks for nothing.]"""
_SPOKE: Final = "[So the assistant has been speaking, word for word:]"
