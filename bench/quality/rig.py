"""The gateway that techniques run through: a process of its own, and what it is asked over HTTP."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import aiohttp
import orjson
from aiohttp import web

from bench.ports import free_port
from bench.quality.recorded import RecordedSet
from bench.quality.replay import CRITIC, JUDGE, Replay, application
from bench.rig import HERE, Call, CannotMeasure, Server, first_200_s, start
from techniques.core.json import Json, JsonObject

_PATIENCE_S: Final = 600.0


@dataclass(frozen=True, slots=True)
class Given:
    """One answer of the gateway, or the failure that came in its place.

    ``tokens`` and ``cost`` are those of all calls; ``cost`` in dollars.
    """

    text: str
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0
    warnings: frozenset[str] = frozenset()
    failure: str = ""


def configuration(
    recorded: RecordedSet, port: int, upstream: int, measured: Path | None
) -> JsonObject:
    """Return the gateway's configuration for *recorded*; *measured* is a calibration file."""
    best = recorded.models[-1]
    rows: list[Json] = [
        {
            "name": model.name,
            "provider": "replay",
            "price": {"input": model.input, "output": model.output},
            "capabilities": {"logprobs": model.logprobs},
        }
        for model in recorded.models
    ]
    rows += [
        {"name": role, "provider": "replay", "price": {"input": best.input, "output": best.output}}
        for role in (JUDGE, CRITIC)
    ]
    reliability: JsonObject = {"judge": JUDGE, "critic": CRITIC}
    if measured is not None:
        reliability["calibration"] = str(measured)
    return {
        "server": {"port": port},
        "providers": {
            "replay": {
                "dialect": "openai_chat",
                "base_url": f"http://127.0.0.1:{upstream}/v1",
                "allow_private": True,
            }
        },
        "models": rows,
        "reliability": reliability,
        "upstream": {"retries": 0},
    }


@asynccontextmanager
async def served(replay: Replay) -> AsyncGenerator[int, None]:
    """Serve *replay* on the loopback address and yield its port."""
    runner = web.AppRunner(application(replay), access_log=None, handler_cancellation=True)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def start_gateway(
    recorded: RecordedSet, upstream: int, where: Path, measured: Path | None
) -> Server:
    """Start the gateway of this checkout and wait until it answers.

    Raises:
        CannotMeasure: It does not.
    """
    port = free_port()
    config = where / "gateway.yaml"
    config.write_bytes(orjson.dumps(configuration(recorded, port, upstream, measured)))
    command = ["env", f"PYTHONPATH={HERE.parent}", sys.executable, "-m", "gateway.cli"]
    return start("gateway", [*command, "serve", "-c", str(config)], port, where)


def calibrated(recorded: RecordedSet, upstream: int, where: Path, *, judged: bool) -> Path:
    """Measure the models of *recorded* with ``lockgate calibrate`` and return the file it wrote.

    With *judged* the judge too.

    To be called in a thread, for the upstream must go on answering.

    Raises:
        CannotMeasure: The command failed; its last words are told.
    """
    config, questions = where / "calibrating.yaml", where / "questions.jsonl"
    config.write_bytes(orjson.dumps(configuration(recorded, 0, upstream, None)))
    questions.write_bytes(
        b"\n".join(
            orjson.dumps({"prompt": one.prompt, "reference": one.gold})
            for one in recorded.questions
        )
    )
    output = where / "calibration.json"
    names = ",".join(model.name for model in recorded.models)
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "gateway.cli", "calibrate", str(questions)),
            *("--models", names, "-c", str(config), "-o", str(output)),
            *(("--judge", JUDGE) if judged else ()),
        ],
        cwd=HERE.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        raise CannotMeasure(f"lockgate calibrate failed: {ended.stderr[-600:]}")
    return output


@dataclass
class Client:
    """Asks a gateway as any client does."""

    port: int
    session: aiohttp.ClientSession
    headers: dict[str, str] = field(default_factory=dict)

    async def ask(self, body: JsonObject, headers: dict[str, str]) -> Given:
        """Send *body* as a chat completion and return what came of it."""
        url = f"http://127.0.0.1:{self.port}/v1/chat/completions"
        began = _now()
        async with self.session.post(url, json=body, headers=headers) as answer:
            raw = await answer.read()
        seconds = _now() - began
        told = orjson.loads(raw)
        if answer.status != 200:
            return Given("", seconds=seconds, failure=str(told.get("error", {}).get("message")))
        return given(told, dict(answer.headers), seconds)


def given(body: JsonObject, headers: dict[str, str], seconds: float) -> Given:
    """Return what an answer of the gateway says."""
    message, usage = body["choices"][0]["message"], body["usage"]
    calls = message.get("tool_calls")
    text = calls[0]["function"]["arguments"] if calls else message["content"] or ""
    known = {name.lower(): value for name, value in headers.items()}
    warnings = known.get("x-lockgate-warnings", "").split("; ")
    return Given(
        text,
        calls=int(known["x-lockgate-calls"]),
        tokens=usage.get("lockgate", usage)["total_tokens"],
        cost=float(known.get("x-lockgate-cost-usd") or 0),
        seconds=seconds,
        warnings=frozenset(one.partition(":")[0] for one in warnings if one),
    )


def wait(gateway: Server, model: str) -> None:
    """Wait until *gateway* is there.

    Raises:
        CannotMeasure: It ended, or did not answer in ten minutes.
    """
    body = {"model": model, "messages": [{"role": "user", "content": "Are you there?"}]}
    first_200_s(gateway, Call("/v1/chat/completions", orjson.dumps(body)), _PATIENCE_S)


def _now() -> float:
    return time.perf_counter()
