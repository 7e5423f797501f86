"""What keeping the contents of slots is worth: sessions in turn, one more than there are slots.

python -m bench.llama_cpp --server http://127.0.0.1:8081 --folder SLOT_SAVE_PATH [--sizes 250,1000]

Each session asks once and then goes on twice; by then another has had its slot. The arms differ in
what the gateway does with slots, the prompts do not. The server is to be started with
``--slot-save-path`` and with slots large enough for the largest size.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from statistics import median
from time import perf_counter
from typing import Final

import anyio
import orjson

from gateway.app import CHAT
from gateway.config import Config, Secrets
from gateway.metering.ledger import Ledger
from gateway.pipeline import Asked
from gateway.policy.keys import OPEN
from gateway.policy.wishes import Wishes
from gateway.wiring import Parts, running
from techniques.core.json import JsonObject
from techniques.core.reply import fold

ARMS: Final[tuple[str, ...]] = ("the server chooses", "slots", "slots, kept on disk")
_WORDS: Final = ("the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "and", "runs")
_ROUNDS: Final = 3


@dataclass(frozen=True, slots=True)
class Call:
    """How long a call took, how many tokens its prompt had and how many of them were there."""

    seconds: float
    tokens: int
    cached: int


def story(size: int, name: str) -> str:
    """Return a text of about *size* tokens that begins with *name*."""
    words = [_WORDS[(place * 7 + place // 11) % len(_WORDS)] for place in range(size)]
    return " ".join([name, *words])


def config(server: str, arm: str, folder: Path) -> Config:
    """Return a gateway before *server* whose slots are used as *arm* says."""
    provider: JsonObject = {
        "dialect": "openai_chat",
        "base_url": f"{server}/v1",
        "allow_private": True,
    }
    if arm != ARMS[0]:
        provider["llama_cpp"] = {}
    if arm == ARMS[2]:
        kv: JsonObject = {"folder": str(folder), "min_tokens": 64, "idle_s": "1h"}
        provider["llama_cpp"] = {"kv": kv}
    return Config.model_validate(
        {
            "providers": {"llama": provider},
            "models": [{"name": "m", "provider": "llama", "price": {"input": 0, "output": 0}}],
            "database": {"url": "none"},
        }
    )


async def call(parts: Parts, session: str, messages: Sequence[JsonObject]) -> Call:
    """Ask for one token after *messages*."""
    body: JsonObject = {"model": "m", "messages": [*messages], "max_tokens": 1, "temperature": 0}
    decoded = CHAT.decode(body, orjson.dumps(body))
    asked, pipeline = Asked(decoded, OPEN, Wishes(session=session)), parts.front.pipeline
    began = perf_counter()
    async with pipeline.answer(asked, pipeline.plan(asked), ledger := Ledger()) as events:
        await fold(events)
    usage = ledger.rows[-1].usage
    return Call(perf_counter() - began, usage.input_tokens, usage.cache_read_tokens)


async def rounds(parts: Parts, sessions: int, size: int) -> list[Call]:
    """Have *sessions* begin and then go on in turn; return the calls that went on."""
    names = [token_hex(4) for _ in range(sessions)]
    told = {name: [{"role": "user", "content": story(size, name)}] for name in names}
    calls: list[Call] = []
    for number in range(_ROUNDS):
        for name, messages in told.items():
            made = await call(parts, name, [*messages])
            calls += [made] if number else []
            messages += [
                {"role": "assistant", "content": "And then?"},
                {"role": "user", "content": f"Go on, part {number}."},
            ]
    return calls


def row(arm: str, calls: Sequence[Call]) -> str:
    """Return what *calls* under *arm* came to, as a row of a table."""
    tokens = round(median(one.tokens for one in calls))
    there = sum(one.cached for one in calls) / sum(one.tokens for one in calls)
    seconds = [one.seconds for one in calls]
    return f"| {tokens} | {arm} | {median(seconds):.2f} | {max(seconds):.2f} | {there:.0%} |\n"


async def run(arguments: argparse.Namespace) -> None:
    """Measure all arms at all sizes."""
    sys.stdout.write("| tokens | arm | seconds, median | slowest | of the prompt there |\n")
    sys.stdout.write("| --: | --- | --: | --: | --: |\n")
    for size in map(int, arguments.sizes.split(",")):
        for arm in ARMS:
            stated = config(arguments.server, arm, arguments.folder)
            async with running(stated, Secrets(None, None)) as parts:
                made = await rounds(parts, arguments.sessions, size)
            sys.stdout.write(row(arm, made))
            sys.stdout.flush()


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", default="http://127.0.0.1:8081")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--sizes", default="250,1000,4000")
    parser.add_argument("--sessions", type=int, default=3)
    anyio.run(run, parser.parse_args())


if __name__ == "__main__":
    main()
