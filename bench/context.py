"""What is cut of real agents' conversations, and whether it pays: ``python -m bench.context FILE``.

FILE has a conversation a line, JSON with ``messages`` as chat completions have them, gzipped or
not. Each is asked for again turn by turn, as its agent did: the answers are the recorded ones,
whatever was cut. The provider is made up: it counts four characters a token, and its cache, if it
has one, holds what a request has in common with the one before, message by message, from 1,024
tokens on. So is the writer of summaries, unless ``--writer URL`` names a real one: it writes down
every pin and nothing else, and shows what the best of summaries would save.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import anyio
import openai

from gateway.context.case import Case, Writer
from gateway.context.cut import parted
from gateway.context.pins import Pins, pinned
from gateway.context.rules import OnWall, Rules
from gateway.context.slimmer import Slimmer
from gateway.context.slimming import Slimming
from gateway.context.turns import turn_of, words_of
from gateway.metering.estimate import turn_tokens
from gateway.metering.ledger import CallFinished, ContextSlimmed, Fact, SummaryTried
from gateway.wire.openai_chat.turns import turns_of
from pricing.cost import cost
from pricing.price import Price
from pricing.usage import Usage
from techniques.core.channel import Member
from techniques.core.errors import RequestRejected
from techniques.core.events import Event
from techniques.core.reply import replied, unfold
from techniques.core.request import Message, Request

PRICE: Final = Price(150_000, 600_000, cache_read=75_000)
"""That of gpt-4o-mini: 0.15, 0.60 and 0.075 dollars per million tokens."""
RULES: Final[Mapping[str, OnWall]] = {
    "off": "off",
    "drop_tool_results": "drop_tool_results",
    "truncate": "truncate",
    "summarise": "summarise",
    "always": "summarise",
}
"""``always`` sums up as if a summary cost nothing."""
_CACHED_FROM: Final = 1024


class Obedient:
    """Writes every pin down, and nothing else."""

    async def write(self, request: Request) -> tuple[str, Usage]:
        """Return a summary, and what it was counted with."""
        told = request.messages[0].text
        said = told.partition(" sentences>>\n")[2].partition("\n<<end")[0]
        values = told.partition(" values>>\n")[2].partition("\n<<end")[0].splitlines()
        rest = ", ".join(Pins(values=tuple(values)).lost(said))
        text = f"{said}\n{rest}".strip() or "Nothing of note was said."
        assert len(text) // 4 <= (request.sampling.max_output_tokens or 0)
        return text, Usage(len(told) // 4, len(text) // 4)


class Served:
    """Asks a real model at *url*."""

    def __init__(self, url: str, model: str) -> None:
        self._client = openai.AsyncOpenAI(base_url=url, api_key="none", timeout=600, max_retries=0)
        self._model = model

    async def write(self, request: Request) -> tuple[str, Usage]:
        """Return a summary, and what it was counted with."""
        answer = await self._client.chat.completions.create(
            model=self._model,
            messages=[{"role": "user", "content": request.messages[0].text}],
            max_tokens=request.sampling.max_output_tokens,
            temperature=0,
        )
        used = answer.usage
        text = answer.choices[0].message.content or ""
        return text, Usage(used.prompt_tokens, used.completion_tokens) if used else Usage()


class _Writing:
    """The channel to who writes summaries; what they used is in ``used``."""

    def __init__(self, writer: Obedient | Served) -> None:
        self._writer = writer
        self.used = Usage()

    @asynccontextmanager
    async def open(self, request: Request) -> AsyncGenerator[AsyncIterator[Event], None]:
        """Write a summary."""
        text, usage = await self._writer.write(request)
        self.used += usage
        yield _each(list(unfold(replied(text, usage=usage))))


async def _each(events: Sequence[Event]) -> AsyncIterator[Event]:
    for event in events:
        yield event


@dataclass(slots=True)
class Sum:
    """What came of all conversations under one rule; what agents wrote is the same for all."""

    turns: int = 0
    refused: int = 0
    sent: Usage = field(default_factory=Usage)
    cuts: int = 0
    shorter: int = 0
    summaries: Counter[str] = field(default_factory=Counter)
    pins: int = 0
    kept: int = 0
    guesses: list[tuple[float, float, int]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Setting:
    """A model with a window, and a provider with a cache or without."""

    window: int
    cache: bool


async def replayed(
    talks: Sequence[Sequence[Message]], rule: str, at: Setting, writer: Obedient | Served
) -> Sum:
    """Return what came of *talks*, one after the other, under *rule*."""
    total, slimmer, writing = Sum(), Slimmer(), _Writing(writer)
    facts: list[Fact] = []
    asks = Price(0, 0) if rule == "always" else PRICE
    for talk in talks:
        case = Case(
            rules=Rules(RULES[rule]),
            whose="bench",
            model="m",
            provider="p",
            use="baseline",
            window=at.window,
            output=at.window // 8,
            price=PRICE,
            fence="0123456789abcdef",
            affordable=lambda calls: calls,
            record=facts.append,
            writer=Writer(Member("summary", "w", writing), asks, None),
        )
        await _one(talk, Slimming(slimmer, case), at, (total, slimmer, facts))
    total.sent += writing.used
    total.cuts = sum(isinstance(fact, ContextSlimmed) and fact.fresh for fact in facts)
    total.summaries = Counter(fact.outcome for fact in facts if isinstance(fact, SummaryTried))
    return total


async def _one(
    talk: Sequence[Message],
    slimming: Slimming,
    at: Setting,
    into: tuple[Sum, Slimmer, list[Fact]],
) -> None:
    total, slimmer, facts = into
    before: Sequence[Message] = ()
    asked = [place for place, message in enumerate(talk) if message.role == "assistant"]
    for nth, place in enumerate(asked):
        request, known = Request("m", tuple(talk[:place])), len(facts)
        turn = turn_of(parted(request.messages))
        guess = slimmer.ways.ahead("bench", turn)
        total.guesses.append((guess, float(turn), len(asked) - nth))
        total.turns += 1
        try:
            slim = await slimming.slim(request)
        except RequestRejected:
            total.refused += 1
            return
        usage = _counted(slim.messages, before if at.cache else ())
        before = slim.messages
        total.sent += usage
        slimming.learn(slim, [_row(usage)])
        if any(isinstance(fact, ContextSlimmed) for fact in facts[known:]):
            total.shorter += 1
            _look(request.messages, slim.messages, total)


def _look(whole: Sequence[Message], left: Sequence[Message], total: Sum) -> None:
    """Count what must not be lost of *whole*, and how much of it is in what is *left*."""
    spoken = parted(whole)
    pins = pinned(spoken[:-8], spoken[-8:])
    text = "\n".join(words_of(message.parts) for message in parted(left))
    total.pins += len(pins.values)
    total.kept += len(pins.values) - len(pins.lost(text))


def _counted(messages: Sequence[Message], before: Sequence[Message]) -> Usage:
    common = 0
    for one, other in zip(messages, before, strict=False):
        if one != other:
            break
        common += turn_tokens(one)
    read = sum(map(turn_tokens, messages))
    return Usage(read, cache_read_tokens=common if common >= _CACHED_FROM else 0)


def _row(usage: Usage) -> CallFinished:
    return CallFinished(
        model="m",
        provider="p",
        role="answer",
        step="0",
        usage=usage,
        estimated=False,
        cost=cost(usage, PRICE),
        cost_source="operator",
        outcome="ok",
        started_at=0.0,
        seconds=0.0,
        first_s=None,
    )


def read(path: Path) -> Iterator[tuple[Message, ...]]:
    """Yield the conversations in the file at *path*."""
    opened = gzip.open if path.suffix == ".gz" else Path.open
    with opened(path, "rb") as lines:
        for line in lines:
            yield turns_of(json.loads(line)["messages"])


def told(setting: Setting, rule: str, total: Sum, plain: Sum) -> str:
    """Return a row of the table."""
    tried = total.summaries
    rejected = sum(tried.values()) - tried["used"] - tried["not_worth"]
    cells = (
        f"{setting.window:,}",
        "yes" if setting.cache else "no",
        rule,
        f"{total.turns:,}",
        f"{total.refused}",
        f"{total.shorter:,}",
        f"{total.cuts}",
        f"{tried['used']} / {rejected} / {tried['not_worth']}" if tried else "-",
        f"{total.sent.input_tokens / plain.sent.input_tokens:.0%}",
        f"{cost(total.sent, PRICE) / cost(plain.sent, PRICE):.0%}",
        f"{total.kept / total.pins:.0%}" if total.pins else "-",
    )
    return f"| {' | '.join(cells)} |"


HEAD: Final = (
    "| window | cache | rule | turns | refused | sent shorter | cut anew | summaries used "
    "/ rejected / not worth it | tokens in | dollars | pins left |\n|" + " --- |" * 11
)


def forecast(total: Sum) -> str:
    """Return how far off the number of turns to come was, beside a guess without learning."""
    off = [(abs(guess - left), abs(had - left)) for guess, had, left in total.guesses]
    ours, lindy = (sum(errors) / len(off) for errors in zip(*off, strict=True))
    return f"turns to come, mean error: {ours:.1f}; as many as there were: {lindy:.1f}"


async def _run(arguments: argparse.Namespace) -> None:
    talks = list(read(arguments.file))[: arguments.first]
    writer = Served(arguments.writer, arguments.model) if arguments.writer else Obedient()
    sys.stdout.write(f"{HEAD}\n")
    total = Sum()
    for window in arguments.window:
        for cache in (False, True):
            setting = Setting(window, cache)
            plain = await replayed(talks, "off", setting, writer)
            for rule in arguments.rule:
                total = await replayed(talks, rule, setting, writer)
                sys.stdout.write(f"{told(setting, rule, total, plain)}\n")
                sys.stdout.flush()
    sys.stdout.write(f"{forecast(total)}\n")


def main(arguments: Sequence[str]) -> None:
    """Replay, and print the table."""
    parser = argparse.ArgumentParser(prog="bench.context", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--window", type=int, nargs="+", default=[4000, 8000])
    parser.add_argument("--rule", nargs="+", choices=RULES, default=list(RULES)[1:])
    parser.add_argument("--first", type=int, help="read no more conversations than that")
    parser.add_argument("--writer", metavar="URL", help="an OpenAI-compatible API for summaries")
    parser.add_argument("--model", default="local", help="the model there")
    anyio.run(_run, parser.parse_args(arguments))


if __name__ == "__main__":
    main(sys.argv[1:])
