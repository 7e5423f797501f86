"""Traffic that touches every area that is counted: what goes well, what waits, what fails."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from techniques.core.json import Json
from tests.conformance.stage import CHAT
from tests.fakes import script
from tests.fakes.client import Exchange, request
from tests.fakes.gateway import KEYS, UPSTREAM_KEYS, hashed, settings
from tests.fakes.script import Answer, Wait, begin, dumps, error, sse, text
from tests.fakes.upstream import Asked
from tests.patience import PATIENCE_S

METRICS_TOKEN: Final = UPSTREAM_KEYS["oa"]
POOR: Final = "lk-poor-0b77"
_PRICE: Final[Mapping[str, Json]] = {"input": 3, "output": 15}


def config(port: int, dead: int, redis: str) -> dict[str, Json]:
    """Return a gateway's configuration over an upstream on *port* and a store at *redis*.

    Nobody listens on the port *dead*.
    """
    root = {"dialect": "openai_chat", "base_url": f"http://127.0.0.1:{port}/v1"}
    theirs = {**root, "api_key": "${OA_KEY}", "allow_private": True}
    models: list[Json] = [
        {"name": f"m-{kind}", "provider": kind, "model": kind, "price": dict(_PRICE)}
        for kind in ("narrow", "refusing", "unstated", "breaking", "slow")
    ]
    models += [
        {"name": "sim-small", "provider": "sim", "price": {"input": 0.1, "output": 0.4}},
        {"name": "sim-large", "provider": "sim", "price": {"input": 1, "output": 4}},
        {"name": "unpriced", "provider": "slow", "model": "plain"},
        {
            "name": "m-gone",
            "provider": "gone",
            "model": "x",
            "price": dict(_PRICE),
            "fallbacks": ["sim-small"],
        },
    ]
    usual = settings(port, dead, {})
    return {
        **{name: usual[name] for name in ("server",)},
        "providers": {
            "sim": {"dialect": "openai_chat", "simulated": {"seed": 0}},
            "narrow": {**theirs, "limits": {"rpm": 3, "minute_s": 1.0}},
            "refusing": {**theirs, "limits": {"rpm": 100_000}},
            **dict.fromkeys(("unstated", "breaking", "slow"), theirs),
            "gone": usual["providers"]["gone"],
        },
        "models": models,
        "teams": [{"name": "research", "budget": {"usd": 50, "period": "month"}}],
        "keys": [
            {"name": "k1", "hash": hashed(KEYS["k1"])},
            {"name": "k2", "hash": hashed(KEYS["k2"]), "team": "research"},
            {"name": "poor", "hash": hashed(POOR), "budget": {"usd": 0.0001, "period": "day"}},
        ],
        "reliability": {"judge": "sim-large"},
        "upstream": {"retries": 1, "backoff_s": 0.01},
        "pacing": {"mode": "on", "patience": {"stream_s": 20, "json_s": 20}},
        "store": {"redis": redis},
        "metrics": {"token": "${OA_KEY}"},
        "tracing": {"otlp": f"http://127.0.0.1:{port}"},
    }


def answers(asked: Asked) -> Answer:
    """Answer as the provider and the collector of ``config`` do."""
    if asked.path == "/v1/traces":
        return script.body({})
    match asked.body["model"]:
        case "refusing" | "unstated":
            return error(429, "slow down", headers={"retry-after": "0.2"})
        case "breaking":
            return sse(begin(), text("It breaks"), Wait(0.01), end="reset")
        case "slow":
            return sse(begin(), text("It takes"), Wait(5.0), text("its time"))
        case _:
            return script.completion("fine")


_FEWEST = 4
"""How often each kind goes on a slow machine too: what comes once is no rate."""


@dataclass
class Traffic:
    """Sends requests of every kind to *port*, again and again, until ``ends``."""

    port: int
    seconds: float
    failures: list[BaseException] = field(default_factory=list)
    _numbers: count[int] = field(default_factory=count)

    def run(self) -> None:
        """Send; one thread for each kind."""
        kinds: tuple[Callable[[], None], ...] = (
            self._plain,
            self._streams,
            self._techniques,
            self._masked,
            self._narrow,
            self._narrow,
            self._suspended,
            self._refused,
            self._breaks,
            self._leaves,
            self._gone,
            self._forecast,
            self._money,
            self._wrong,
        )
        until = time.monotonic() + self.seconds
        threads = [threading.Thread(target=self._again, args=(kind, until)) for kind in kinds]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(self.seconds + PATIENCE_S)
        if self.failures:
            raise self.failures[0]

    def _again(self, kind: Callable[[], None], until: float) -> None:
        try:
            rounds = 0
            while time.monotonic() < until or rounds < _FEWEST:
                kind()
                rounds += 1
                time.sleep(0.15)
        except BaseException as error:  # noqa: BLE001 - told by the main thread
            self.failures.append(error)

    def _open(self, model: str, key: str = KEYS["k1"], **more: Json) -> Exchange:
        headers = {"authorization": f"Bearer {key}"}
        headers |= {f"x-lockgate-{name}": value for name, value in more.pop("wishes", {}).items()}
        number = more.pop("number", None) or next(self._numbers) % 50
        question = {"role": "user", "content": f"What is 17 * {number}?"}
        path = more.pop("path", CHAT)
        body = {"model": model, "messages": [question], "max_tokens": 64, **more}
        return Exchange(self.port, request(path, dumps(body), headers))

    def _ask(self, model: str, key: str = KEYS["k1"], **more: Json) -> int:
        return self._open(model, key, **more).whole().status

    def _plain(self) -> None:
        assert self._ask("sim-small") == 200
        assert self._ask("unpriced") == 200
        assert self._ask("sim-large", KEYS["k2"]) == 200
        assert self._ask("sim-small", path="/v1/messages") == 200

    def _streams(self) -> None:
        assert self._ask("sim-small", stream=True) == 200

    def _techniques(self) -> None:
        for name in ("self_consistency", "best_of_n", "harq_ir", "auto"):
            assert self._ask("sim-small", wishes={"technique": name}) == 200
        assert self._ask("cisc/sim-small") == 200

    def _masked(self) -> None:
        assert self._ask("sim-small", n=2, wishes={"technique": "self_consistency"}) == 200

    def _narrow(self) -> None:
        assert self._ask("m-narrow") == 200

    def _suspended(self) -> None:
        name = f"put-away-{next(self._numbers)}"
        wishes = {"on-limit": "suspend", "run": name, "technique": "re2"}
        for _ in range(20):
            if self._ask("m-narrow", wishes=wishes, number=1) == 200:
                break
            time.sleep(0.3)

    def _refused(self) -> None:
        assert self._ask("m-refusing", wishes={"on-limit": "reject"}) == 429
        assert self._ask("m-unstated", wishes={"on-limit": "reject"}) == 429

    def _breaks(self) -> None:
        self._ask("m-breaking", stream=True)

    def _leaves(self) -> None:
        exchange = self._open("m-slow", stream=True)
        assert exchange.status == 200
        exchange.leave()

    def _gone(self) -> None:
        assert self._ask("m-gone") == 200

    def _forecast(self) -> None:
        name = f"forecast-{next(self._numbers)}"
        asked: dict[str, Json] = {"steps": 1, "tokens_per_step": 60, "run": name}
        forecast = dumps({"model": "sim-small", **asked})
        headers = {"authorization": f"Bearer {KEYS['k1']}"}
        assert Exchange(self.port, request("/v1/forecast", forecast, headers)).whole().status == 200
        assert self._ask("sim-small", wishes={"session": name}) == 200

    def _money(self) -> None:
        status = self._ask("sim-large", POOR)
        assert status in {200, 402, 429}, status

    def _wrong(self) -> None:
        assert self._ask("no-such-model") == 404
        assert self._ask("sim-small", "lk-wrong") == 401
