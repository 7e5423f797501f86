"""An answer and its parities by step, and a way to run fec over them."""

from __future__ import annotations

import json

from techniques import catalog
from techniques.core.channel import Channels
from techniques.core.errors import UpstreamFailed
from techniques.core.json import Json
from techniques.core.registry import load
from techniques.core.request import Request
from techniques.testing import ScriptedChannel
from tests.techniques.scene import Answer, Cap, Played, Setting, asks, channels, play, scripted

CARDS = load(catalog)
NAMES = ("fec_0.75", "fec_0.50", "fec_0.33", "fec_0.25")
SUM = asks("What is 6 * 7?")
SEA = asks("Tell me of the sea.")
SALT = "The sea is salt. It is 3 km deep. It is old."
DEEP = "The sea is salt and 4 km deep."
DOWN = UpstreamFailed("down", "server", retryable=True)
PLAIN: dict[str, Answer] = {
    "verification": json.dumps({"result": "", "faults": [], "doubts": []}),
    "crosscheck": json.dumps({"consistent": True, "conflicts": []}),
}


def conflict(
    main: str = "3 km deep", parity: str = "4 km deep", resolution: str = "4 km deep"
) -> dict[str, str]:
    return {"claim": "depth", "main": main, "parity": parity, "resolution": resolution}


def syndrome(*conflicts: Json, consistent: bool = False) -> str:
    return json.dumps({"consistent": consistent, "conflicts": conflicts})


def checked(result: str) -> str:
    return json.dumps({"result": result, "faults": []})


def by_step(**answers: Answer) -> ScriptedChannel:
    """Answer by step, or by role where the step is not named."""
    said = {**PLAIN, **answers}
    return scripted(lambda one: said[one.step] if one.step in said else said[one.role])


async def run(
    name: str,
    channel: ScriptedChannel,
    request: Request = SUM,
    *,
    models: Channels | None = None,
    cap: int | None = None,
    **options: Json,
) -> Played:
    card = CARDS[name]
    limit = None if cap is None else Cap(channel, cap)
    setting = Setting(card.options(**options), cap=limit)
    return await play(card.run, models or channels(channel), request, setting)
