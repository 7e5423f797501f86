"""Long conversations, and what a request for one is slimmed by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from gateway.context.case import Case, Writer
from gateway.context.rules import OnWall, Rules
from gateway.context.slimmer import Slimmer
from gateway.context.slimming import Slimming
from gateway.metering.ledger import CallFinished, ContextSlimmed, Fact, SummaryTried
from pricing.price import Price
from pricing.usage import Usage
from techniques.core.channel import Member
from techniques.core.events import Warned
from techniques.core.request import Message, Request, Text, ToolCall, ToolResult, said
from techniques.testing import Line, ScriptedChannel

PRICE = Price(1_000_000, 4_000_000, cache_read=100_000)
FILLER = "and so it went on for a good while without much of note "
SYSTEM = said("system", "You are a careful agent.")


def called(name: str, call_id: str = "") -> Message:
    """Return a turn that calls a tool."""
    return Message("assistant", (ToolCall(call_id or name, name, f'{{"of": "{name}"}}'),))


def gave(name: str, text: str) -> Message:
    """Return what the tool gave back."""
    return Message("tool", (ToolResult(name, (Text(text),)),))


def talk(turns: int, words: int = 40) -> tuple[Message, ...]:
    """Return a conversation of so many questions and answers, each of about so many tokens."""
    long = FILLER * (words * 4 // len(FILLER) + 1)
    spoken: list[Message] = [SYSTEM]
    for turn in range(turns):
        spoken.append(said("user", f"Item {turn + 100} must ship by May {turn + 1}. {long}"))
        spoken.append(said("assistant", f"I have noted that with pleasure. {long}"))
    return (*spoken, said("user", "What is next?"))


def worked(tools: int, letters: int = 800) -> tuple[Message, ...]:
    """Return an agent's conversation: one task, then so many calls with results so long."""
    spoken = [SYSTEM, said("user", "Find the cheapest offer for order A-77.")]
    for place in range(tools):
        spoken += [called(f"look_{place}"), gave(f"look_{place}", "x" * letters)]
    return tuple(spoken)


def obedient(request: Request) -> str:
    """Write a record that has all that must be in it."""
    text = request.messages[0].text
    marked = text.partition(" values>>\n")[2].partition("\n<<end")[0]
    return f"They spoke of {', '.join(marked.splitlines())}."


@dataclass
class Scene:
    """A caller's conversations with one model, by what rules they are slimmed."""

    on_wall: OnWall
    window: int = 1000
    keep_last: int = 4
    at: float = 0.6
    price: Price | None = PRICE
    writes: Callable[[Request], str | Line] = obedient
    pins: tuple[str, ...] = ()
    whose: str = "k1"
    affordable: int = 99
    reads: int | None = None
    slimmer: Slimmer = field(default_factory=Slimmer)
    facts: list[Fact] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.channel = ScriptedChannel(lambda request: self.writes(request))

    def slimming(self) -> Slimming:
        """Return what slims the next request."""
        writer = Writer(Member("summary", "w", self.channel), self.price, self.reads)
        case = Case(
            rules=Rules(self.on_wall, self.at, self.keep_last),
            whose=self.whose,
            model="m",
            provider="p",
            use="baseline",
            window=self.window,
            output=100,
            price=self.price,
            fence="fence",
            affordable=lambda calls: min(calls, self.affordable),
            record=self.facts.append,
            pins=self.pins,
            writer=writer if self.on_wall == "summarise" else None,
        )
        return Slimming(self.slimmer, case)

    async def slim(self, *messages: Message) -> tuple[Message, ...]:
        """Return what is left of a conversation."""
        slim = await self.slimming().slim(Request("m", messages))
        return slim.messages

    def counts(self, messages: tuple[Message, ...], usage: Usage, calls: int = 1) -> None:
        """Have the provider count a request with *messages* so."""
        row = CallFinished(
            model="m",
            provider="p",
            role="answer",
            step="0",
            usage=usage,
            estimated=False,
            cost=0,
            cost_source="operator",
            outcome="ok",
            started_at=0.0,
            seconds=1.0,
            first_s=None,
        )
        self.slimming().learn(Request("m", messages), [row] * calls)

    @property
    def warnings(self) -> list[str]:
        """The codes of all warnings so far."""
        return [fact.code for fact in self.facts if isinstance(fact, Warned)]

    @property
    def summaries(self) -> list[str]:
        """What became of each summary that was thought of."""
        return [fact.outcome for fact in self.facts if isinstance(fact, SummaryTried)]

    @property
    def slimmed(self) -> list[ContextSlimmed]:
        """What was told of each conversation that was sent shorter."""
        return [fact for fact in self.facts if isinstance(fact, ContextSlimmed)]


def stripped(messages: tuple[Message, ...]) -> list[str]:
    """Return the roles and the beginnings of *messages*, to look at."""
    return [f"{message.role}: {message.text[:20]}" for message in messages]


def marked(message: Message) -> Message:
    """Return *message* with a mark for the provider's cache on its first text."""
    first, *rest = message.parts
    assert isinstance(first, Text)
    return replace(message, parts=(replace(first, cache={"type": "ephemeral"}), *rest))
