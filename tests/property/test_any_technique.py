"""Whatever fails, is cut off or runs out: a valid answer or a typed error; the bill is right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Final

import anyio
import orjson
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from gateway.app import CHAT
from gateway.channels.retrying import RetryPolicy
from gateway.metering.ledger import CallFinished, Ledger
from gateway.pipeline import Asked, Pipeline
from gateway.planning.plan import Defaults
from gateway.planning.planner import Planner
from gateway.policy.keys import OPEN
from gateway.policy.models import Catalogue, Model
from gateway.policy.wishes import Wishes
from gateway.upstream.http import HttpChannel, Patience
from gateway.upstream.provider import Target
from gateway.upstream.providers.openai_chat import OpenAIChat
from pricing.cost import cost
from pricing.price import Price
from techniques import catalog
from techniques.core.errors import GatewayError
from techniques.core.events import Relayed
from techniques.core.json import Json
from techniques.core.registry import load
from techniques.core.reply import Reply, fold
from techniques.parts.checks import Checks
from tests.e2e.special import SPECIAL
from tests.property.faulty import FAULTS, Fault, Faulty
from tests.techniques.scene import each, needed

CARDS: Final = load(catalog)
PRICES: Final = {"sim-small": Price(2, 7), "sim-large": Price(20, 70)}
EXAMPLES: Final = settings(max_examples=20, deadline=None, derandomize=True)
NEVER: Final = 1e6


@dataclass(frozen=True)
class Trouble:
    """What goes wrong in a run.

    Attributes:
        faults: That of each call that has one.
        special: What sort of request it is.
        streamed: Whether the answer is wanted in pieces.
        max_calls: The cap.
        leaves_at: The second at which the client leaves.
        deadline_ms: How long the client waits.
        rescue: Whether a plain call follows where the technique fails.
        expose: What is shown of the technique at work.
        times: How many answers are wanted, each by a run of its own.
    """

    faults: Mapping[int, Fault]
    special: str
    streamed: bool
    max_calls: int
    leaves_at: float
    deadline_ms: int | None
    rescue: bool
    expose: str
    times: int


TROUBLES: Final = st.builds(
    Trouble,
    faults=st.dictionaries(st.integers(0, 12), st.sampled_from(FAULTS), max_size=8),
    special=st.sampled_from([name for name in SPECIAL if name not in {"n = 2", "logprobs"}]),
    streamed=st.booleans(),
    max_calls=st.integers(1, 24),
    leaves_at=st.one_of(st.just(NEVER), st.integers(0, 24).map(lambda half: half / 2)),
    deadline_ms=st.one_of(st.none(), st.integers(1, 20_000)),
    rescue=st.booleans(),
    expose=st.sampled_from(["final", "trace", "optimistic"]),
    times=st.sampled_from([1, 1, 2]),
)


@dataclass(frozen=True)
class Ended:
    """How a run ended: with an answer, an error, or neither where the client had left.

    ``relayed`` are the provider's own bytes, where a plain call took the technique's place.
    """

    provider: Faulty
    ledger: Ledger
    answer: Reply | None = None
    error: GatewayError | None = None
    relayed: bytes = b""


def carried_out(technique: str, trouble: Trouble) -> Ended:
    """Run *technique* in *trouble* through the gateway's own pipeline, in virtual time."""

    async def run() -> Ended:
        provider = Faulty(trouble.faults)
        ledger = Ledger()
        try:
            with anyio.move_on_after(trouble.leaves_at):
                pipeline = _pipeline(provider)
                asked = _asked(technique, trouble)
                plan = pipeline.plan(asked)
                async with pipeline.answer(asked, plan, ledger) as events:
                    told = [event async for event in events]
                relayed = b"".join(one.raw for one in told if isinstance(one, Relayed))
                return Ended(provider, ledger, await fold(each(told)), relayed=relayed)
        except GatewayError as error:
            return Ended(provider, ledger, error=error)
        return Ended(provider, ledger)

    return trio.run(run, clock=MockClock(autojump_threshold=0))


def _pipeline(provider: Faulty) -> Pipeline:
    models = [
        Model(
            HttpChannel(provider, OpenAIChat(), Target(name, "sim", name), Patience(60, 60)), price
        )
        for name, price in PRICES.items()
    ]
    defaults = Defaults(judge="sim-large")
    planner = Planner(Catalogue(models), CARDS, defaults)
    return Pipeline(planner, RetryPolicy(1, 0.5, 60.0), Random(3))


def _asked(technique: str, trouble: Trouble) -> Asked:
    body: dict[str, Json] = {"model": "sim-small", **SPECIAL[trouble.special].chat}
    body |= {"stream": trouble.streamed, "seed": 5, "n": trouble.times}
    wishes = Wishes(
        technique=technique,
        channels=("sim-large",),
        max_calls=trouble.max_calls,
        deadline_ms=trouble.deadline_ms,
        on_error="fallback_baseline" if trouble.rescue else "raise",
        expose=trouble.expose,
        n_policy="repeat",
        params=needed(CARDS[technique]),
    )
    return Asked(CHAT.decode(body, orjson.dumps(body)), OPEN, wishes)


@pytest.mark.parametrize("technique", CARDS)
@given(trouble=TROUBLES)
@EXAMPLES
def test_any_technique_in_any_trouble(technique: str, trouble: Trouble) -> None:
    ended = carried_out(technique, trouble)
    provider, rows = ended.provider, ended.ledger.rows

    assert provider.open == 0
    assert len(provider.served) <= trouble.max_calls
    assert len(rows) == len(provider.served)
    assert _bill(rows) == _log(provider)
    if ended.relayed:
        assert b"choices" in ended.relayed
    elif ended.answer is not None:
        for answer in (ended.answer, *ended.answer.others):
            _valid(answer, technique, trouble)
    else:
        assert ended.error is not None or trouble.leaves_at < NEVER


def _valid(answer: Reply, technique: str, trouble: Trouble) -> None:
    """Check that *answer* says something, and only what a strict request lets it say."""
    assert answer.text.strip() or answer.tool_calls
    assert "wrong" not in answer.text
    assert "html" not in answer.text
    request = _asked(technique, trouble).call.relay.decode()
    checks = Checks(request)
    assert not checks.strict or not checks.defects(answer)


def _bill(rows: list[CallFinished]) -> list[tuple[str, int | None]]:
    """Return model and cost of the rows whose provider had counted the tokens."""
    counted = [row for row in rows if row.outcome == "ok" and not row.estimated]
    return sorted((row.model, row.cost) for row in counted)


def _log(provider: Faulty) -> list[tuple[str, int | None]]:
    """Return the same as the provider has it."""
    used = [(served.model, served.usage) for served in provider.served]
    return sorted((model, cost(usage, PRICES[model])) for model, usage in used if usage is not None)
