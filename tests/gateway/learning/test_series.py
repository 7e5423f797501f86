from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from gateway.learning.prompts import Prompt, Written, read_prompts
from gateway.learning.running import Laboratory, Studied, Study
from gateway.learning.series import Series, Subject, Tally, unjudged
from router_service.arms import arm_of
from router_service.contract import Vector
from techniques.core.errors import UpstreamFailed
from techniques.core.json import Json
from tests.gateway.learning.scene import ARMS, Facts, Scene, asked, gateway

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])

SUMS = read_prompts(
    "\n".join(
        f'{{"prompt": "What is {first} * {first + 6}?", "reference": {first * (first + 6)}}}'
        for first in range(11, 23)
    )
)
OPEN = read_prompts('{"prompt": "Explain why the sea is salty."}')
EVERYTHING = 1e9


class Here:
    """An encoder for which all texts lie at one place."""

    name = "here"

    async def encode(self, text: str) -> Vector | None:
        return Vector(encoder="here", values=(1.0, 0.0))


def call(messages: Sequence[Json]) -> Any:
    (turn,) = messages
    assert isinstance(turn, dict)
    return asked(str(turn["content"]))


def subject(scene: Scene, **changes: Any) -> Subject:
    given: dict[str, Any] = {
        "others": (scene.model("sim-large"),),
        "judge": scene.model("sim-large"),
        **changes,
    }
    return Subject(scene.model("sim-small"), tuple(map(arm_of, ARMS)), call, **given)


@dataclass
class Ran:
    tally: Tally
    written: Written
    asked: int


async def run(
    file: Path, prompts: Sequence[Prompt], most_usd: float = EVERYTHING, **changes: Any
) -> Ran:
    async with gateway() as parts:
        scene = Scene(parts)
        written = Written(file)
        series = Series(scene.laboratory, Here(), written, most_usd)
        works = series.to_do([subject(scene, **changes)], prompts)
        tally = await series.run(works, 2, lambda _tally: None)
    return Ran(tally, written, len(scene.facts.finished))


async def test_each_prompt_tells_of_all_arms(tmp_path: Path) -> None:
    ran = await run(tmp_path / "o", SUMS[:2])
    rows = list(ran.written.rows())

    assert (ran.tally.learnt, ran.asked) == (2, 2)
    assert {row.arm for row in rows} >= {"none", "self_consistency/5", "none/-/sim-large"}
    assert all(row.counterfactual and row.vector is not None for row in rows)
    assert {row.features.kind for row in rows} == {"number"}
    assert {(row.source, row.reliability) for row in rows} == {("reference", 1.0)}
    assert len({row.id for row in rows}) == len(rows)


async def test_answers_are_worth_what_the_reference_says(tmp_path: Path) -> None:
    ran = await run(tmp_path / "o", SUMS)
    rows = list(ran.written.rows())
    plain = [row for row in rows if row.arm == "none"]
    strong = fmean(row.quality or 0.0 for row in rows if row.arm == "none/-/sim-large")

    assert len(plain) == len(SUMS)
    assert {row.quality for row in plain} == {0.0, 1.0}
    assert strong > fmean(row.quality or 0.0 for row in plain)


async def test_what_was_learnt_of_is_not_asked_again(tmp_path: Path) -> None:
    first = await run(tmp_path / "o", SUMS[:2])
    second = await run(tmp_path / "o", SUMS[:3])

    assert (first.asked, second.asked) == (2, 1)
    assert len({row.request_id for row in second.written.rows()}) == 3


async def test_it_stops_before_it_costs_more_than_it_may(tmp_path: Path) -> None:
    whole = await run(tmp_path / "whole", SUMS)
    most = whole.tally.usd / 3
    part = await run(tmp_path / "part", SUMS, most)
    rest = await run(tmp_path / "part", SUMS)

    assert 0 < part.tally.learnt < len(SUMS)
    assert part.tally.left == len(SUMS) - part.tally.learnt
    assert part.tally.usd <= 1.3 * most  # what was begun is ended, and costs what it costs
    assert part.tally.learnt + rest.tally.learnt == len(SUMS)


async def test_without_a_reference_a_judge_tells(tmp_path: Path) -> None:
    ran = await run(tmp_path / "o", OPEN)
    rows = list(ran.written.rows())

    assert {(row.source, row.reliability) for row in rows} == {("judge", 0.6)}


async def test_with_references_alone_votes_and_other_models_can_be_told_of(
    tmp_path: Path,
) -> None:
    ran = await run(tmp_path / "o", SUMS[:1], judge=None)

    arms = {row.arm for row in ran.written.rows()}
    assert {"none", "self_consistency/3", "none/-/sim-large", "cascade"} <= arms
    assert not {arm for arm in arms if arm.startswith("best_of_n")}


async def test_prompts_that_nobody_could_grade_are_named() -> None:
    async with gateway() as parts:
        scene = Scene(parts)

        assert unjudged([subject(scene, judge=None)], [*SUMS, *OPEN]) == [OPEN[0].name]
        assert unjudged([subject(scene)], [*SUMS, *OPEN]) == []


class Failing(Laboratory):
    """A laboratory in which nothing works."""

    async def carry_out(self, study: Study) -> Studied:
        return Studied((), UpstreamFailed("down", "server", retryable=True))


async def test_what_failed_is_tried_again_the_next_time(tmp_path: Path) -> None:
    async with gateway() as parts:
        scene = Scene(parts)
        written = Written(tmp_path / "o")
        failing = Failing(lambda: parts.front.pipeline, (Facts(),))
        series = Series(failing, None, written, EVERYTHING)
        tally = await series.run(series.to_do([subject(scene)], SUMS[:2]), 2, lambda _tally: None)

    assert (tally.failed, tally.learnt) == (2, 0)
    assert (await run(tmp_path / "o", SUMS[:2])).tally.learnt == 2
