"""Sums and products to a model that really runs: what techniques do for it."""

from __future__ import annotations

import asyncio
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import aiohttp
import orjson

from bench.ports import free_port
from bench.quality.arms import LIKELIEST, PLAIN
from bench.quality.recorded import RecordedSet
from bench.quality.report import table
from bench.quality.rig import Client, Given, wait
from bench.quality.running import Arm, Ran, Tally, headers
from bench.real_model import Question, is_right, questions
from bench.rig import HERE, start
from techniques.core.json import JsonObject

_ENDING: Final = "Reply with the number only."
_MOST: Final = 256
_ARMS: Final = (
    Arm(PLAIN, "none"),
    Arm("self_consistency", "self_consistency"),
    Arm(LIKELIEST, "best_of_n", {"score": "logprob"}),
)


async def measured(url: str, model: str, count: int) -> str:
    """Ask *count* sums and products of *model* at *url* under each arm and return the table."""
    tallies = {arm.label: Tally() for arm in _ARMS}
    with TemporaryDirectory() as where:
        config, port = Path(where) / "gateway.yaml", free_port()
        config.write_bytes(orjson.dumps(_configuration(url, model, port)))
        command = ["env", f"PYTHONPATH={HERE.parent}", sys.executable, "-m", "gateway.cli"]
        gateway = start("gateway", [*command, "serve", "-c", str(config)], port, Path(where))
        try:
            await asyncio.to_thread(wait, gateway, model)
            timeout = aiohttp.ClientTimeout(total=None)
            async with aiohttp.ClientSession(timeout=timeout) as session:
                await _ask_all(Client(port, session), model, count, tallies)
        finally:
            await asyncio.to_thread(gateway.stop)
    recorded = RecordedSet(model, "a model that runs, sums and products", (), ())
    return table(model, Ran(recorded, tallies))


async def _ask_all(client: Client, model: str, count: int, tallies: dict[str, Tally]) -> None:
    for number, question in enumerate(questions(count, 0, _ENDING), 1):
        body: JsonObject = {
            "model": model,
            "messages": [{"role": "user", "content": question.text}],
            "temperature": 0,
            "max_tokens": _MOST,
        }
        for arm in _ARMS:
            got = await client.ask(body, headers(arm))
            tallies[arm.label].add([got], partial(_is_right, question))
        sys.stderr.write(f"{number} of {count}\n")


def _is_right(question: Question, got: Given) -> bool:
    return is_right(got.text, question.answer)


def _configuration(url: str, model: str, port: int) -> JsonObject:
    account = {"dialect": "openai_chat", "base_url": url, "allow_private": True}
    return {
        "server": {"port": port},
        "providers": {"local": account},
        "models": [{"name": model, "provider": "local"}],
        "upstream": {"first_byte_s": "20m", "idle_s": "20m"},
    }
