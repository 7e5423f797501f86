"""A draft on a war, its faults, and a way to run what refines it."""

from __future__ import annotations

from techniques import catalog
from techniques.core.errors import UpstreamFailed
from techniques.core.json import Json
from techniques.core.registry import load
from techniques.core.request import Request
from techniques.testing import ScriptedChannel
from tests.techniques.scene import (
    Answer,
    Cap,
    Played,
    Setting,
    asks,
    fault,
    faults,
    marks,
    play,
    prefers,
    scripted,
    shown,
    with_judge,
)

HI = asks("Tell me of the war.")
DRAFT = "The war began in 1916 and was long."
MENDED = "The war began in 1914 and was long."
DATE = fault("in 1916", "in 1914")
GAP = fault("", "Say when it ended.", "missing")
STOP = faults(decision="stop")
DOWN = UpstreamFailed("down", "server", retryable=True)
POOR, GOOD = marks("n04"), marks()


def by_step(answers: dict[str, Answer], otherwise: Answer = STOP) -> ScriptedChannel:
    """Answer by step, or by role where the step is not named; judges like revisions."""

    def answer(request: Request) -> Answer:
        found = answers.get(request.step, answers.get(request.role))
        if found is None and request.role == "judge":
            return prefers("2" if request.step.endswith("a") else "1")
        return otherwise if found is None else found

    return scripted(answer)


def poor(answers: dict[str, Answer]) -> ScriptedChannel:
    """Answer as ``by_step`` does, with a draft that scores badly."""
    return by_step({"d0": DRAFT, "s0": POOR, **answers})


def never_content(request: Request) -> Answer:
    """Draft, find ever new gaps, fill them, prefer what is new."""
    match request.role:
        case "critique":
            return faults(fault("", f"Word number {request.step} is not there.", "missing"))
        case "judge" if "answer 2>>" in shown(request):
            return prefers("2" if request.step.endswith("a") else "1")
        case "judge":
            return POOR
        case _:
            return f"{DRAFT} Then came {request.step}."


async def run(
    channel: ScriptedChannel,
    request: Request = HI,
    *,
    technique: str = "self_refine",
    cap: int | None = None,
    **options: Json,
) -> Played:
    card = load(catalog)[technique]
    limit = None if cap is None else Cap(channel, cap)
    setting = Setting(card.options(**options), cap=limit)
    return await play(card.run, with_judge(channel), request, setting)
