from __future__ import annotations

import pytest

from gateway.context.pins import pinned
from gateway.context.summary import Brief
from gateway.upstream.simulated.settings import MODELS, Simulation
from gateway.upstream.simulated.transport import SimulatedTransport
from tests.gateway.context.scene import talk
from tests.gateway.upstream.simulated_calls import ask
from tests.techniques.scene import shown

DRAWS = 120


async def test_a_record_keeps_all_that_it_must_as_often_as_stated() -> None:
    old = talk(8)[1:]
    kept = 0
    for place in range(DRAWS):
        brief = Brief(old, 900, pinned(old, [], 1200), f"{place:016x}")
        asked = shown(brief.request("sim-large"))
        told = await ask(
            SimulatedTransport(Simulation(seed=1)), asked, model="sim-large", max_tokens=300
        )
        assert told.body["choices"][0]["finish_reason"] == "stop"
        kept += not brief.pins.lost(told.text)

    assert kept / DRAWS == pytest.approx(1 - MODELS["sim-large"].judge_error_rate, abs=0.09)
