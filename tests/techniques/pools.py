"""Several models that answer, and a judge or a writer apart from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from techniques.core.channel import Channels, Member
from techniques.core.request import Request
from techniques.testing import ScriptedChannel
from tests.techniques.scene import Answer, Played, channels, marks, prefers, shown

FINE, WRONG = marks(), marks("n04")


def judged(channel: ScriptedChannel, pool: int = 2) -> Channels:
    return replace(channels(channel, pool=pool), judge=Member("j", "judge", channel))


def liking(*good: str) -> Callable[[Request], Answer]:
    """Judge answers that have one of *good* in them fine, and all others wrong."""

    def answer(request: Request) -> Answer:
        assert request.role == "judge"
        return FINE if any(text in shown(request) for text in good) else WRONG

    return answer


def drawers(played: Played) -> dict[str, str]:
    return {one.step: one.model for one in played.asked if one.role == "candidate"}


def writing(
    written: str, judge: Callable[[Request], Answer] = lambda _request: FINE
) -> Callable[[Request], Answer]:
    """Write *written*, prefer it to anything, and judge the rest as *judge* does."""

    def answer(request: Request) -> Answer:
        if request.role == "synthesis":
            return written
        text = shown(request)
        if "answer 2>>" in text:
            return prefers("1" if f"answer 1>>\n{written}" in text else "2")
        return judge(request)

    return answer
