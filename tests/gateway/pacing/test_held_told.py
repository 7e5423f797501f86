"""What is told of a hold begins and ends with it, whatever is waited for."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from gateway.admission.verdict import Patience
from gateway.pacing.run import Run
from gateway.policy.budgets import Budget
from gateway.policy.keys import OPEN, Caller
from gateway.stores.database.ledger import Spender
from gateway.stores.ledger import WindowSpec
from techniques.core.channel import ask
from techniques.core.errors import GatewayError, HeldBack, KeyLimited
from techniques.core.groups import task_group
from techniques.core.request import Sampling
from tests.gateway.pacing.provider import Answer, Provider
from tests.gateway.pacing.scene import QUESTION, Paced, per_minute

SHORT_OF_MONEY = Caller("app", budgeted=True, budgets=(Budget(Spender("app"), 3 * 10**8),))
ASKED = replace(QUESTION, sampling=Sampling(max_output_tokens=100))
CASES = {
    "requests": (OPEN, per_minute("requests", 1), "acme"),
    "concurrency": (OPEN, WindowSpec("*:concurrency:0", "gauge", 1), "acme"),
    "usd": (SHORT_OF_MONEY, per_minute("requests", 100), ""),
}


async def _end(paced: Paced, provider: Provider, run: Run) -> GatewayError | None:
    """Return how a call ended that was held back at once or later, None if well."""
    try:
        await ask(paced.channel(provider, run), ASKED)
    except (HeldBack, KeyLimited) as error:
        return error
    return None


@pytest.mark.parametrize("reason", CASES)
@pytest.mark.parametrize("patience_s", [300.0, 0.5])
async def test_a_hold_is_told_as_long_as_it_lasts(reason: str, patience_s: float) -> None:
    caller, window, account = CASES[reason]
    paced, provider = Paced((window,)), Provider(Answer(takes_s=30.0))
    await paced.store.define(paced.account.pool, [window])
    runs, holds = [], []
    for patience in (Patience(300.0), Patience(patience_s)):
        runs.append(paced.run(caller, patience))
        holds.append(paced.ledger.holds)

    async with task_group() as group:
        for run in runs:
            group.start_soon(_end, paced, provider, run)
            await anyio.sleep(0.1)
        held = [(one.reason, one.of, one.account) for one in holds[1].waiting]
        await anyio.sleep(70 if reason == "requests" else 40)
        after = [one.waiting for one in holds]

    at_once = reason == "requests" and patience_s < 60  # when it could go is known
    assert held == ([] if at_once else [(reason, "fast", account)])
    assert after == [(), ()]
    assert len(provider.began) == (1 if patience_s < 30 else 2)
