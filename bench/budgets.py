"""Many requests at once against one budget, over several replicas, of which one is killed.

    python -m bench.budgets [--requests 200] [--replicas 3] [--fan-out 5] [--write]

Each request asks for a technique that makes several calls at once, and the budget pays for about
half of all. Then a replica is killed with requests under way. What is looked at: that what was
settled is never more than the budget, that nobody was refused what it would have paid for, and
that the rows of the database come to what was charged, those of the killed replica too.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random  # noqa: TID251 - seeded below
from typing import Final

from redis import Redis

from techniques.core.json import Json
from tests.conformance.replicas import charged, held, secret, started, with_budget
from tests.conformance.stage import CHAT, chat, technique
from tests.fakes.client import CutOff, Exchange, request
from tests.fakes.gateway import Gateway, settings
from tests.fakes.script import Answer, completion, counts, dumps
from tests.fakes.upstream import Asked, ScriptedUpstream
from tests.patience import PATIENCE_S, eventually
from tests.services.valkey import Valkey

PREFIX: Final = "budgets"
POOL: Final = "key:shared"
OUTPUT: Final = 100
PICO: Final = 10**12
MOST_EACH: Final = (3 * 60 + 15 * OUTPUT) * 10**6
"""What is held for one call at the most, in picodollars: sixty tokens of input, and its output."""
LEASE_S: Final = 60
_PAGE: Final = Path(__file__).parents[1] / "docs" / "evidence.md"


@dataclass(frozen=True, slots=True)
class Size:
    """How much is asked: *requests* at once of each replica, each with so many calls."""

    requests: int
    replicas: int
    fan_out: int

    @property
    def budget_usd(self) -> str:
        """About half of what all calls cost: a vote that is decided makes no more of them."""
        calls = self.requests * self.replicas * (self.fan_out // 2 + 1)
        return f"{calls * 0.55 * 15 * OUTPUT / 1e6 / 2:.4f}"


@dataclass(slots=True)
class Outcome:
    """What came of it; money in picodollars. ``most`` is the most that was ever settled."""

    cap: int
    statuses: Counter[str] = field(default_factory=Counter)
    settled: int = 0
    most: int = 0
    rows: int = 0
    booked: int = 0
    calls: int = 0
    ambiguous: int = 0
    held: int = 0

    def check(self) -> None:
        """Check what must hold.

        Raises:
            AssertionError: It does not.
        """
        assert self.most <= self.cap, "The budget was passed."
        assert self.settled == self.booked, "Rows and charges differ."
        assert self.held == 0, "Something is still held."
        if self.statuses["402 budget_exhausted"]:
            assert self.cap - self.settled < MOST_EACH, "Somebody was refused what there was."


@dataclass(slots=True)
class Rig:
    """Gateways on one store and one database, in front of an upstream that takes its time."""

    size: Size
    gateways: list[Gateway]
    upstream: ScriptedUpstream
    store: Redis
    file: Path
    outcome: Outcome

    def run(self, replicas: list[int], after: threading.Event | None = None) -> None:
        """Ask everything of *replicas* at once; set *after* when calls are under way."""
        threads = [
            threading.Thread(target=self._ask, args=(self.gateways[replica],))
            for replica in replicas
            for _ in range(self.size.requests)
        ]
        for thread in threads:
            thread.start()
        if after is not None:
            eventually(lambda: self.upstream.busy > self.size.requests // 4)
            after.set()
        for thread in threads:
            while thread.is_alive():
                thread.join(0.1)
                self.look()

    def look(self) -> None:
        """Note what is settled now."""
        if self.store.keys(f"{PREFIX}:{{{POOL}}}:m:*"):
            self.outcome.most = max(self.outcome.most, charged(self.store, PREFIX, POOL))

    def settle(self, seconds: float = PATIENCE_S) -> Outcome:
        """Wait until nothing is held and the rows have come, and return what came of it."""
        outcome = self.outcome

        def is_done() -> bool:
            outcome.held = held(self.store, PREFIX, POOL)
            outcome.settled = charged(self.store, PREFIX, POOL)
            self._read()
            return not outcome.held and outcome.booked == outcome.settled

        eventually(is_done, seconds)
        self.look()
        outcome.calls = len(self.upstream.asked)
        return outcome

    def _read(self) -> None:
        with closing(sqlite3.connect(self.file)) as database:
            (found,) = database.execute(
                "SELECT COUNT(*), COALESCE(SUM(cost), 0),"
                " COUNT(*) FILTER (WHERE outcome = 'ambiguous') FROM ledger"
            )
        self.outcome.rows, self.outcome.booked, self.outcome.ambiguous = found

    def _ask(self, gateway: Gateway) -> None:
        headers = {
            "authorization": f"Bearer {secret('shared')}",
            **technique("self_consistency", num_samples=self.size.fan_out),
        }
        body = dumps(chat(max_tokens=OUTPUT))
        try:
            answer = Exchange(gateway.port, request(CHAT, body, headers), 120).whole()
        except (OSError, CutOff):
            self.outcome.statuses["cut off"] += 1
        else:
            code = "" if answer.status == 200 else f" {answer.json['error']['code']}"
            self.outcome.statuses[f"{answer.status}{code}"] += 1


def _answering(dice: Random) -> Answer:
    answer = completion("42", used=counts(20, dice.randint(10, OUTPUT)))
    return answer.later(dice.uniform(0.1, 0.6))


@contextmanager
def rig(size: Size) -> Iterator[Rig]:
    """Start everything; leaving stops it."""
    with ExitStack() as stack:
        server = stack.enter_context(Valkey())
        upstream = stack.enter_context(ScriptedUpstream())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="budgets-")))
        dice = Random(7)

        def choose(_asked: Asked) -> Answer:
            return _answering(dice)

        upstream.chooses(choose)
        config = settings(upstream.port, 9, _changes(size, server, folder))
        gateways = []
        for number in range(size.replicas):
            own = folder / str(number)
            own.mkdir()
            gateways.append(Gateway(own, config))
        running = stack.enter_context(started(gateways))
        cap = round(float(size.budget_usd) * PICO)
        yield Rig(size, running, upstream, server.client(), folder / "lockgate.db", Outcome(cap))


def _changes(size: Size, server: Valkey, folder: Path) -> dict[str, Json]:
    return {
        "upstream": {"retries": 0},
        "store": {"redis": server.url, "prefix": PREFIX},
        "database": {"url": f"sqlite:///{folder}/lockgate.db"},
        "keys": [with_budget("shared", size.budget_usd)],
    }


def crowded(size: Size) -> Outcome:
    """Ask all replicas at once."""
    with rig(size) as playing:
        playing.run(list(range(size.replicas)))
        return playing.settle()


def killed(size: Size) -> Outcome:
    """Ask all replicas at once, and kill the last while calls are under way."""
    with rig(size) as playing:
        underway = threading.Event()
        last = playing.gateways[-1]

        def kill() -> None:
            underway.wait(60)
            last.process.kill()

        killer = threading.Thread(target=kill)
        killer.start()
        playing.run(list(range(size.replicas)), underway)
        killer.join()
        return playing.settle(LEASE_S + PATIENCE_S)


def told(name: str, size: Size, outcome: Outcome) -> str:
    """Return a line of the table."""
    statuses = ", ".join(f"{status}: {n}" for status, n in sorted(outcome.statuses.items()))
    shown = (
        name,
        f"{size.requests} x {size.replicas} x {size.fan_out}",
        f"{outcome.cap / PICO:.4f}",
        f"{outcome.most / PICO:.6f}",
        f"{outcome.booked / PICO:.6f}",
        statuses,
        f"{outcome.calls} / {outcome.rows}",
        str(outcome.ambiguous),
        f"{outcome.held / PICO:.6f}",
    )
    return "| " + " | ".join(shown) + " |"


COLUMNS: Final = (
    "",
    "requests x replicas x calls",
    "budget, $",
    "most ever settled, $",
    "rows, $",
    "answers",
    "calls / rows",
    "rows of lost calls",
    "held at the end, $",
)
HEAD: Final = f"| {' | '.join(COLUMNS)} |\n|{' --- |' * len(COLUMNS)}"


def main() -> None:
    """Run both, print the table, and with ``--write`` put it into docs/evidence.md."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--replicas", type=int, default=3)
    parser.add_argument("--fan-out", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    size = Size(given.requests, given.replicas, given.fan_out)
    lines, began = [HEAD], time.monotonic()
    for name, play in (("all at once", crowded), ("one replica killed", killed)):
        outcome = play(size)
        lines.append(told(name, size, outcome))
        sys.stdout.write(f"{lines[-1]} ({time.monotonic() - began:.0f} s)\n")
        sys.stdout.flush()
        outcome.check()
    if given.write:
        _write("\n".join(lines))


def _write(table: str) -> None:
    before, _, rest = _PAGE.read_text().partition("<!-- budgets:begin -->\n")
    _, _, after = rest.partition("<!-- budgets:end -->")
    _PAGE.write_text(f"{before}<!-- budgets:begin -->\n{table}\n<!-- budgets:end -->{after}")


if __name__ == "__main__":
    main()
