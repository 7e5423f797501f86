"""Three replicas under load: what their metrics come to is what the one ledger says, exactly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Final, TypeAlias

import orjson
import pytest
from prometheus_client.parser import text_string_to_metric_families
from redis import Redis
from typer.testing import CliRunner

from gateway.cli import main
from techniques.core.json import Json
from tests.conformance.replicas import PICO, charged, held, secret, started, with_budget
from tests.conformance.stage import CHAT, chat, summed, technique
from tests.fakes import script
from tests.fakes.client import CutOff, Exchange, request
from tests.fakes.gateway import ADMIN_TOKEN, UPSTREAM_KEYS, Gateway, hashed, settings
from tests.fakes.script import Answer, Wait, dumps
from tests.fakes.upstream import Asked, ScriptedUpstream
from tests.patience import eventually
from tests.services.postgres import Postgres
from tests.services.valkey import Valkey

REPLICAS: Final = 3
REQUESTS: Final = 180
AT_ONCE: Final = 9
PREFIX: Final = "one-ledger"
SLOW: Final = 201
"""The limit of an answer that takes its time: its client leaves."""
TECHNIQUES: Final[tuple[dict[str, str], ...]] = (
    {},
    {},
    technique("self_consistency", num_samples=3),
    technique("best_of_n", num_samples=2),
    technique("self_refine"),
)
KINDS: Final = ("input", "output", "cache_read", "cache_write", "reasoning")

Totals: TypeAlias = dict[tuple[str, ...], int]


@dataclass(frozen=True, slots=True)
class Rig:
    """Replicas, and what they share."""

    gateways: list[Gateway]
    upstream: ScriptedUpstream
    store: Redis
    config: Path

    def ask(self, number: int) -> None:
        """Make request *number*, at one replica after the other; one in nine leaves early."""
        dice, leaves = Random(number), number % 9 == 0
        key, model = dice.choice([("paid", "oa-first"), ("paid", "oa-own"), ("free", "oa-free")])
        wishes = {} if leaves else dice.choice(TECHNIQUES)
        streamed = leaves or dice.random() < 0.5
        body = chat(model=model, stream=streamed, max_tokens=SLOW if leaves else 200)
        headers = {"authorization": f"Bearer {secret(key)}", **wishes}
        sent = request(CHAT, dumps(body), headers)
        with suppress(CutOff), Exchange(self.gateways[number % REPLICAS].port, sent, 60) as told:
            if leaves:
                next(told.pieces(), None)
                told.leave()
            else:
                told.whole()

    def counted(self) -> Totals:
        """Return the sums over the metrics of all replicas: calls, tokens and picodollars."""
        totals: defaultdict[tuple[str, ...], float] = defaultdict(float)
        for gateway in self.gateways:
            for family in text_string_to_metric_families(gateway.get("/metrics").body.decode()):
                for sample in family.samples:
                    if sample.name in LABELS:
                        labels = (sample.labels[label] for label in LABELS[sample.name])
                        totals[sample.name, *labels] += sample.value
        exact = ((key, n * PICO if key[0] == COST else n) for key, n in totals.items())
        return {key: round(n) for key, n in exact if n}

    def booked(self) -> Totals:
        """Return the same as the ledger has it."""
        totals: Totals = {}
        for name, amount in ((CALLS, "calls"), (GUESSED, "estimated_calls")):
            for line in self.bill(f"by={','.join(LABELS[name])}")["lines"]:
                totals[name, *(line[label] for label in LABELS[name])] = line[amount]
        for line in self.bill(f"by={','.join(LABELS[COST])}")["lines"]:
            labels = (line[label] for label in LABELS[COST])
            totals[COST, *labels] = pico(line["at_least_usd"])
        for line in self.bill("by=model,provider")["lines"]:
            for kind in KINDS:
                totals[TOKENS, line["model"], line["provider"], kind] = line[f"{kind}_tokens"]
        return {key: n for key, n in totals.items() if n}

    def bill(self, query: str, replica: int = 0) -> Json:
        """Return a bill, as a replica tells it."""
        path = f"/admin/bill?since=2020-01-01&{query}"
        found = self.gateways[replica].get(path, ADMIN_TOKEN)
        assert found.status == 200, found.body
        return found.json

    def exported(self) -> list[Json]:
        """Return all rows of the ledger, as a replica exports them."""
        path = "/admin/ledger?since=2020-01-01&format=ndjson"
        found = self.gateways[0].get(path, ADMIN_TOKEN)
        assert found.status == 200, found.body
        return [orjson.loads(line) for line in found.body.splitlines()]

    def has_ended(self) -> bool:
        """Return whether every request has, and nothing is held any more."""
        pages = (gateway.get("/metrics").body.decode().splitlines() for gateway in self.gateways)
        written = sum(
            summed(page, "lockgate_ledger_requests_total", result="written") for page in pages
        )
        return written == REQUESTS and held(self.store, PREFIX, "key:paid") == 0


CALLS: Final = "lockgate_upstream_attempts_total"
GUESSED: Final = "lockgate_usage_estimated_total"
COST: Final = "lockgate_cost_usd_total"
TOKENS: Final = "lockgate_tokens_total"
LABELS: Final = {
    CALLS: ("model", "provider", "outcome"),
    GUESSED: ("model", "provider"),
    COST: ("model", "provider", "role", "source"),
    TOKENS: ("model", "provider", "type"),
}


def answering(dice: Random, asked: Asked) -> Answer:
    """Return an answer, or one of what goes wrong."""
    if dice.random() < 0.1:
        return script.error(dice.choice([500, 429, 503]))
    read, wrote = dice.randrange(1, 900), dice.randrange(1, 300)
    say = as_message if asked.path.endswith("/messages") else as_chat
    return say(dice, asked.body, read, wrote)


def as_message(_dice: Random, body: Json, read: int, wrote: int) -> Answer:
    """Return a whole answer as Anthropic tells it."""
    if body.get("stream"):
        begin = script.message_start(read, cache_creation_input_tokens=9)
        return script.sse(begin, script.text_block("42"), script.message_end(wrote=wrote))
    used = {"input_tokens": read, "output_tokens": wrote, "cache_read_input_tokens": 17}
    return script.message("42", used=used)


def as_chat(dice: Random, body: Json, read: int, wrote: int) -> Answer:
    """Return an answer as OpenAI tells it; of streams some break off, and some take a second."""
    parts = {
        "prompt_tokens_details": {"cached_tokens": read // 3},
        "completion_tokens_details": {"reasoning_tokens": wrote // 4},
    }
    if not body.get("stream"):
        return script.completion("42", used=script.counts(read, wrote, **parts))
    pause = Wait(0.05 if body.get("max_tokens") == SLOW else 0)
    words = [one for n in range(20) for one in (script.text(f"word{n} "), pause)]
    if dice.random() < 0.15:
        return script.sse(script.begin(), *words, end="fin")
    last = (script.finish(), script.usage(read, wrote, **parts), script.done())
    return script.sse(script.begin(), *words, *last)


@pytest.fixture
def rig(postgres: Postgres, tmp_path: Path) -> Iterator[Rig]:
    dice = Random(11)
    with Valkey() as store, ScriptedUpstream() as upstream:
        upstream.chooses(lambda asked: answering(dice, asked))
        changes: Json = {
            "store": {"redis": store.url, "prefix": PREFIX},
            "database": {"url": postgres.database()},
            "keys": [
                with_budget("paid", "100"),
                {"name": "free", "hash": hashed(secret("free"))},
            ],
        }
        config = settings(upstream.port, 9, changes)
        gateways = []
        for number in range(REPLICAS):
            folder = tmp_path / str(number)
            folder.mkdir()
            gateways.append(Gateway(folder, config))
        with started(gateways) as running:
            yield Rig(running, upstream, store.client(), tmp_path / "0" / "lockgate.yaml")


def pico(usd: str) -> int:
    """Return the picodollars that *usd*, a decimal number, is."""
    return int(Decimal(usd) * PICO)


def test_the_metrics_of_all_replicas_come_to_what_the_ledger_says(rig: Rig) -> None:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(rig.ask, range(REQUESTS)))
    assert eventually(rig.has_ended)

    booked = rig.booked()
    assert rig.counted() == booked
    assert {key[0] for key in booked} == set(LABELS)
    assert {key[3] for key in booked if key[0] == CALLS} >= {"ok", "truncated", "client_disconnect"}

    bills = [rig.bill("", replica)["total"] for replica in range(REPLICAS)]
    assert bills == bills[:1] * REPLICAS
    assert bills[0]["unknown_calls"] > 0
    assert bills[0]["calls"] == len(rig.upstream.asked)
    rows = rig.exported()
    assert len(rows) == len({row["id"] for row in rows}) == bills[0]["calls"]
    assert sum(pico(row["cost_usd"] or "0") for row in rows) == pico(bills[0]["at_least_usd"])
    paid = rig.bill("key=paid")["total"]
    assert pico(paid["cost_usd"]) == charged(rig.store, PREFIX, "key:paid") > 0
    assert by_command(rig.config) == bills[0]


def by_command(config: Path) -> Json:
    """Return the total of the bill that the command tells."""
    keys = {f"{name.upper()}_KEY": key for name, key in UPSTREAM_KEYS.items()}
    asked = ["bill", "-c", str(config), "--since", "2020-01-01", "--format", "json"]
    told = CliRunner().invoke(main, asked, env=keys)
    assert told.exit_code == 0, told.output
    return orjson.loads(told.stdout)["total"]
