"""Traffic for the demonstration: callers of every kind, at a bounded rate, until told to stop.

    python traffic.py --url http://127.0.0.1:8080 --rate 2 --seconds 60

It needs nothing but Python. Each line that it prints, but the first, counts what came of the
requests so far.
"""

import argparse
import http.client
import json
import math
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from random import Random  # noqa: TID251 - a client, and seeded
from typing import Any
from urllib.parse import urlsplit

AT_ONCE = 40
"""How many requests are under way at most; what comes on top is left out, and counted."""
REPORT_S = 10.0
TIDE_S = 240.0
"""From one high water to the next: there is more to do at times than the limits let through."""
PATIENCE_S = 90.0
TRIES = 4

KEYS = {name: f"lg-demo-{name}" for name in ("app", "web", "batch", "trial")}
CHAT = "/v1/chat/completions"
TECHNIQUES = (
    *("self_consistency", "cisc", "weighted_bon", "best_of_n", "genselect", "harq_ir", "harq_cc"),
    *("self_refine", "chain_of_verification", "fountain", "fec_0.50", "turbo", "plan_search"),
    *("diversity_sc", "diversity_mrc", "mixture_of_agents", "cascade", "acm", "re2", "auto"),
)
CAPITALS = ("France", "Canada", "Peru", "Morocco", "Vietnam", "Turkey", "Switzerland")
TOPICS = ("a harbour at night", "why bread rises", "how to read a map", "the first frost")


@dataclass(frozen=True)
class Ask:
    """One request. Who leaves closes the connection after so many lines of the answer."""

    body: Mapping[str, Any]
    key: str = KEYS["app"]
    path: str = CHAT
    headers: Mapping[str, str] = field(default_factory=dict)
    leaves_after: int | None = None


def question(chance: Random) -> str:
    """Return something to ask."""
    a, b = chance.randint(3, 99), chance.randint(3, 99)
    return chance.choice(
        (
            f"What is {a} * {b}?",
            f"Calculate {a} + {b} - {chance.randint(1, 9)}.",
            f"What is the capital of {chance.choice(CAPITALS)}?",
            f"Write {chance.randint(2, 6)} sentences about {chance.choice(TOPICS)}.",
        )
    )


def said(chance: Random, **more: Any) -> dict[str, Any]:
    """Return the body of a chat completion."""
    messages = [{"role": "user", "content": question(chance)}]
    return {"model": "sim-small", "messages": messages, **more}


def plain(chance: Random) -> Iterator[Ask]:
    """Ask for an answer, or for a stream of one."""
    streamed = {"stream": True, "stream_options": {"include_usage": True}}
    yield Ask(said(chance, **(streamed if chance.random() < 0.6 else {})), KEYS["web"])


def large(chance: Random) -> Iterator[Ask]:
    """Ask the larger model, now and then one that nobody has priced."""
    model = "unpriced" if chance.random() < 0.2 else "sim-large"
    yield Ask(said(chance, model=model), headers={"x-lockgate-tags": "report"})


def messages(chance: Random) -> Iterator[Ask]:
    """Ask as a client of Anthropic's does."""
    body = said(chance, max_tokens=300, stream=chance.random() < 0.5)
    yield Ask(body, path="/v1/messages")


def technique(chance: Random) -> Iterator[Ask]:
    """Ask for a technique."""
    name = chance.choice(TECHNIQUES)
    yield Ask(
        said(chance, stream=chance.random() < 0.3),
        KEYS[chance.choice(("app", "batch"))],
        headers={"x-lockgate-technique": name},
    )


def capped(chance: Random) -> Iterator[Ask]:
    """Ask for more than the caps allow, or in less time than it takes."""
    cap = chance.choice((("max-calls", "2"), ("deadline-ms", "150"), ("max-cost-usd", "0.00001")))
    wished = {"x-lockgate-technique": "self_consistency", f"x-lockgate-{cap[0]}": cap[1]}
    yield Ask(said(chance), headers=wished)


def session(chance: Random) -> Iterator[Ask]:
    """Ask as an agent does, with a session, a tool and a shape for the answer."""
    name = {"x-lockgate-session": f"task-{chance.randint(1, 20)}"}
    yield Ask({}, path="/v1/tools/web_search/acquire")
    wanted = {"type": "object", "properties": {"answer": {"type": "string"}}}
    form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": wanted}}
    yield Ask(said(chance, response_format=form), headers=name)


def burst(chance: Random) -> Iterator[Ask]:
    """Ask for much at once: more than the limits let through, so that some of it is held."""
    for _ in range(chance.randint(12, 24)):
        yield Ask(said(chance, stream=chance.random() < 0.5), KEYS[chance.choice(("app", "batch"))])


def patient(chance: Random) -> Iterator[Ask]:
    """Ask with a run's name, so that a limit puts it away; it is then asked for again."""
    for _ in range(4):
        run = {"x-lockgate-run": f"load-{chance.getrandbits(48):012x}"}
        yield Ask(
            said(chance),
            KEYS["batch"],
            headers={"x-lockgate-on-limit": "suspend", "x-lockgate-technique": "cisc", **run},
        )


def hasty(chance: Random) -> Iterator[Ask]:
    """Ask, and do not wait at a limit."""
    for _ in range(3):
        yield Ask(said(chance), headers={"x-lockgate-on-limit": "reject"})


def leaver(chance: Random) -> Iterator[Ask]:
    """Leave before the answer is complete."""
    yield Ask(said(chance, model="sim-large", stream=True), leaves_after=chance.randint(2, 8))


def trial(chance: Random) -> Iterator[Ask]:
    """Ask with a key that has little to spend."""
    for _ in range(3):
        yield Ask(said(chance, max_tokens=100), KEYS["trial"])  # so that little is held for it


def mistaken(chance: Random) -> Iterator[Ask]:
    """Ask for what there is not, or as nobody."""
    yield chance.choice(
        (
            Ask(said(chance, model="no-such-model")),
            Ask(said(chance), headers={"x-lockgate-technique": "no_such_technique"}),
            Ask(said(chance), "lg-demo-nobody"),
        )
    )


def forecast(chance: Random) -> Iterator[Ask]:
    """Ask what a long run would take."""
    asked = {"model": "sim-small", "steps": chance.randint(5, 30), "tokens_per_step": 600}
    yield Ask(asked, path="/v1/forecast")


Scene = Callable[[Random], Iterator[Ask]]
SCENES: dict[Scene, int] = {
    plain: 30,
    large: 8,
    messages: 8,
    technique: 24,
    capped: 4,
    session: 8,
    burst: 2,
    patient: 3,
    hasty: 3,
    leaver: 4,
    trial: 3,
    mistaken: 3,
    forecast: 1,
}
"""What is played, and how often beside the others."""


def send(url: str, ask: Ask, stop: threading.Event) -> str:
    """Send a request, again as long as it is told that that will help; return what came of it."""
    for _ in range(TRIES):
        outcome, wait_s = _sent(url, ask)
        if wait_s is None or stop.wait(min(wait_s, 15.0)):
            break
    return outcome


def _sent(url: str, ask: Ask) -> tuple[str, float | None]:
    """Return what came of one try, and the seconds to wait before another, None: there is none."""
    place = urlsplit(url)
    kind = http.client.HTTPSConnection if place.scheme == "https" else http.client.HTTPConnection
    connection = kind(place.netloc, timeout=PATIENCE_S)
    own = {"content-type": "application/json", "authorization": f"Bearer {ask.key}"}
    try:
        connection.request("POST", ask.path, json.dumps(ask.body), {**own, **ask.headers})
        answer = connection.getresponse()
        if ask.leaves_after is not None:
            for _ in range(ask.leaves_after):
                answer.readline()
            return "left", None
        text = answer.read()
    except (OSError, http.client.HTTPException):
        return "lost", None
    finally:
        connection.close()
    put_away = answer.status == 429 and b"run_suspended" in text
    wait_s = float(answer.headers.get("retry-after", "1")) if put_away else None
    return str(answer.status), wait_s


def tide(seconds: float) -> float:
    """Return what the rate is multiplied with after so many *seconds*: 0.2 to 1.8, 1 on average."""
    return 1 + 0.8 * math.sin(2 * math.pi * seconds / TIDE_S)


@dataclass
class Load:
    """Plays scenes at *rate* a second, and counts what comes of them."""

    url: str
    chance: Random
    counts: Counter[str] = field(default_factory=Counter)
    stop: threading.Event = field(default_factory=threading.Event)
    _under_way: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, rate: float, seconds: float) -> None:
        """Play for so many *seconds*, 0: until told to stop; requests under way are waited for."""
        began = time.monotonic()
        told = began + REPORT_S
        with ThreadPoolExecutor(AT_ONCE) as pool:
            now = began
            while not self.stop.wait(self.chance.expovariate(rate * tide(now - began))):
                self._play(pool)
                now = time.monotonic()
                if now >= told:
                    told = now + REPORT_S
                    self.tell()
                if seconds and now >= began + seconds:
                    break
        self.tell()

    def tell(self) -> None:
        """Print the counts."""
        with self._lock:
            line = json.dumps(dict(sorted(self.counts.items())))
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    def _play(self, pool: ThreadPoolExecutor) -> None:
        (scene,) = self.chance.choices(list(SCENES), list(SCENES.values()))
        for ask in scene(self.chance):
            with self._lock:
                busy = self._under_way >= AT_ONCE
                self._under_way += not busy
                self.counts["left out"] += busy
            if not busy:
                pool.submit(self._carry_out, ask)

    def _carry_out(self, ask: Ask) -> None:
        outcome = send(self.url, ask, self.stop)
        with self._lock:
            self._under_way -= 1
            self.counts[outcome] += 1


def main() -> None:
    """Read what is wanted, and play it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--url", default="http://127.0.0.1:8080", help="where the gateway is")
    parser.add_argument("--rate", type=float, default=2.0, help="scenes a second, on average")
    parser.add_argument("--seconds", type=float, default=0.0, help="for how long; 0: until stopped")
    parser.add_argument("--seed", type=int, default=0, help="what all chance derives from")
    given = parser.parse_args()
    load = Load(given.url.rstrip("/"), Random(given.seed))
    for told in (signal.SIGTERM, signal.SIGINT):
        signal.signal(told, lambda _signal, _frame: load.stop.set())
    sys.stdout.write(f"asking {load.url}\n")
    sys.stdout.flush()
    load.run(given.rate, given.seconds)


if __name__ == "__main__":
    main()
