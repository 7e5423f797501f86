"""A draft on a war, its faults, and a way to run self_refine over them."""

from __future__ import annotations

from techniques.catalog.self_refine import Options, self_refine
from techniques.core.errors import UpstreamFailed
from techniques.core.json import Json
from techniques.core.request import (
    Request,
)
from techniques.testing import ScriptedChannel
from tests.techniques.scene import (
    Answer,
    Cap,
    Played,
    Setting,
    asks,
    fault,
    faults,
    play,
    prefers,
    scripted,
    with_judge,
)

HI = asks("Tell me of the war.")
DRAFT = "The war began in 1916 and was long."
MENDED = "The war began in 1914 and was long."
DATE = fault("in 1916", "in 1914")
GAP = fault("", "Say when it ended.", "missing")
STOP = faults(decision="stop")
DOWN = UpstreamFailed("down", "server", retryable=True)


def by_step(answers: dict[str, Answer], otherwise: Answer = STOP) -> ScriptedChannel:
    """Answer by step, or by role where the step is not named; judges like revisions."""

    def answer(request: Request) -> Answer:
        found = answers.get(request.step, answers.get(request.role))
        if found is None and request.role == "judge":
            return prefers("2" if request.step.endswith("a") else "1")
        return otherwise if found is None else found

    return scripted(answer)


async def run(
    channel: ScriptedChannel, request: Request = HI, *, cap: int | None = None, **options: Json
) -> Played:
    limit = None if cap is None else Cap(channel, cap)
    return await play(
        self_refine, with_judge(channel), request, Setting(Options(**options), cap=limit)
    )
