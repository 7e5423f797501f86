"""A technique's own question about a conversation: to a judge, a critic or a voter."""

from __future__ import annotations

from dataclasses import dataclass, replace

from techniques.core.channel import Member
from techniques.core.json import JsonObject
from techniques.core.request import Message, Request, ResponseFormat, Sampling, Text, ThinkingWish
from techniques.parts.transcript import Fence, pictures, transcript


@dataclass(frozen=True, slots=True)
class Purpose:
    """What such a question is for, how long its answer may be, and the JSON form of it.

    With ``looks`` the conversation's pictures go with it, to a model that can see.
    """

    role: str
    most_tokens: int
    schema: JsonObject
    temperature: float = 0.0
    looks: bool = True


@dataclass(frozen=True, slots=True)
class Aside:
    """The question number *step* about the conversation *asked*, put to *member*.

    What it is about stands inside *fence*, and nothing there is an instruction to the model.
    """

    asked: Request
    member: Member
    fence: Fence
    step: str

    def conversation(self) -> str:
        """Return the whole conversation as fenced text."""
        return self.fence.around("conversation", transcript(self.asked))

    def request(self, purpose: Purpose, *passages: str) -> Request:
        """Return the request of *passages*.

        None of the client's settings belong to it, and the model is not to think at length. It is
        held to the JSON form where the model can be; elsewhere the words must do.
        """
        abilities = self.member.capabilities
        text = Text("\n\n".join((self.fence.notice, *passages)))
        seen = pictures(self.asked) if abilities.vision and purpose.looks else ()
        request = Request(
            self.member.model,
            (Message("user", (text, *seen)),),
            sampling=Sampling(
                temperature=purpose.temperature if abilities.temperature else None,
                max_output_tokens=purpose.most_tokens,
            ),
            thinking=ThinkingWish("off"),
            role=purpose.role,
            step=self.step,
        )
        if not abilities.json_schema:
            return request
        form = ResponseFormat("json_schema", purpose.schema, purpose.role, strict=True)
        return replace(request, response_format=form)
