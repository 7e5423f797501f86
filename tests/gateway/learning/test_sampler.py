from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
import numpy as np
import pytest
from structlog.testing import capture_logs

from gateway.channels.overheard import Heard
from gateway.learning.learnt import Learner
from gateway.learning.running import Laboratory, Studied, Study
from gateway.learning.sampler import Sampler
from router_service.learning.settings import SamplingSettings
from techniques.core.reply import replied
from tests.gateway.learning.scene import Counted, Facts, Kept, Scene, gateway

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])

ALL = SamplingSettings(share=1.0, judge_rate=1.0, trace_rate=0.0)
TRACES = SamplingSettings(share=1.0, judge_rate=0.0, trace_rate=1.0)


@dataclass
class Working:
    """A sampler at work."""

    scene: Scene
    sampler: Sampler
    kept: Kept
    counted: Counted

    def earn(self, usd: float) -> None:
        self.sampler.earn(usd)

    async def done(self, count: int = 1) -> None:
        await self.counted.until(count)


@asynccontextmanager
async def working(
    settings: SamplingSettings, *, earned: float = 1.0
) -> AsyncGenerator[Working, None]:
    async with gateway() as parts, anyio.create_task_group() as group:
        scene, kept, counted = Scene(parts), Kept(), Counted()
        dice = np.random.default_rng(1)
        learner = Learner(kept, dice, settings.trace_samples)
        sampler = Sampler(settings, scene.laboratory, learner, dice=dice, counts=counted)
        work = Working(scene, sampler, kept, counted)
        work.earn(earned)
        group.start_soon(sampler.serve)
        yield work
        group.cancel_scope.cancel()


def heard(answer: str, first: str) -> Heard:
    return Heard(replied(answer), replied(first))


async def test_a_judge_compares_a_techniques_answer_with_the_plain_one() -> None:
    async with working(ALL) as work:
        work.sampler.offer(
            work.scene.answered("best_of_n/3", heard("The result is 391.", "It is 17."))
        )
        await work.done()

    (said,) = work.kept.said
    assert work.counted.results == {("judge_sample", "learnt"): 1}
    assert (said.request_id, said.source, said.reliability) == ("r1", "judge", 0.6)
    assert said.plain_quality is not None
    assert round(said.quality - said.plain_quality, 6) in {-0.1, 0.0, 0.1}


async def test_a_plain_answer_is_scored_by_itself() -> None:
    async with working(ALL) as work:
        work.sampler.offer(work.scene.answered())
        await work.done()

    (said,) = work.kept.said
    assert said.quality == said.plain_quality


@pytest.mark.parametrize("arm", ["none/-/sim-large", "none/-/primary/high"])
async def test_the_answer_of_another_model_or_with_more_effort_is_asked_for_again(
    arm: str,
) -> None:
    async with working(ALL) as work:
        work.sampler.offer(work.scene.answered(arm))
        await work.done()

    (finished,) = work.scene.facts.finished
    drawn = {row.step: row.model for row in finished.rows if row.role == "candidate"}
    (said,) = work.kept.said
    assert drawn == {"c0": "sim-small", "c1": "sim-large" if "large" in arm else "sim-small"}
    assert said.plain_quality is not None


async def test_an_answer_that_is_the_plain_one_needs_no_comparison() -> None:
    async with working(ALL) as work:
        work.sampler.offer(work.scene.answered("best_of_n/3", heard("It is 391.", "It is 391.")))
        await work.done()

    (said,) = work.kept.said
    (finished,) = work.scene.facts.finished
    assert said.quality == said.plain_quality
    assert [row.role for row in finished.rows] == ["judge"]


async def test_a_full_trace_tells_of_all_arms_that_were_on_offer() -> None:
    async with working(TRACES) as work:
        work.sampler.offer(work.scene.answered())
        await work.done()

    rows = {row.arm: row for row in work.kept.rows}
    assert work.counted.results == {("full_trace", "learnt"): 1}
    assert set(rows) == {
        *("none", "self_consistency/3", "self_consistency/5", "best_of_n/3"),
        *("none/-/sim-large", "none/-/primary/high", "cascade"),
    }
    assert all(row.counterfactual and row.request_id == "r1" for row in rows.values())
    assert all(row.features.kind == "number" for row in rows.values())
    assert rows["none/-/sim-large"].cost == pytest.approx(10, rel=0.8)
    assert (rows["self_consistency/5"].cost or 0) > 1.5


async def test_what_is_asked_to_learn_is_in_the_ledger_and_no_key_pays_for_it() -> None:
    async with working(TRACES) as work:
        work.sampler.offer(work.scene.answered())
        await work.done()
        spent = work.sampler.purse.spent(anyio.current_time())

    (finished,) = work.scene.facts.finished
    roles = {row.role for row in finished.rows}
    assert (finished.dialect, finished.technique, finished.key) == ("learning", "full_trace", None)
    assert finished.tags == "learning"
    assert roles == {"candidate", "confidence", "judge"}
    assert len({row.step for row in finished.rows}) == len(finished.rows)
    assert work.counted.usd == pytest.approx(spent)


async def test_nothing_is_studied_that_there_is_no_money_for() -> None:
    async with working(TRACES, earned=0.0) as work:
        work.sampler.offer(work.scene.answered())
        await work.done()

    assert work.counted.results == {("full_trace", "no_budget"): 1}
    assert work.scene.facts.finished == []


async def test_studies_cost_no_more_than_their_share_of_the_traffic() -> None:
    settings = SamplingSettings(share=0.1, judge_rate=0.0, trace_rate=1.0, queue=1000)
    async with working(settings, earned=1.0) as work:
        for _ in range(40):
            work.sampler.offer(work.scene.answered())
        await work.done(40)

    done = work.counted.results["full_trace", "learnt"]
    assert 0 < done < 40
    assert 0.05 < work.counted.usd <= 0.1


@pytest.mark.parametrize(("trace_rate", "most"), [(0.0, 1.0), (1e-9, 0.5)])
async def test_judge_samples_leave_half_to_full_traces_where_these_are_wanted(
    trace_rate: float, most: float
) -> None:
    settings = SamplingSettings(share=0.1, judge_rate=1.0, trace_rate=trace_rate, queue=1000)
    async with working(settings, earned=1.0) as work:
        for _ in range(150):
            work.sampler.offer(work.scene.answered())
        await work.done(150)
        now = anyio.current_time()
        spent = work.sampler.purse.spent(now) / work.sampler.purse.allowance(now).total_usd

    assert work.counted.results["judge_sample", "no_budget"] > 0
    assert most - 0.3 < spent <= most + 0.1


async def test_what_the_traffic_costs_is_what_may_be_spent_a_share_of() -> None:
    async with working(SamplingSettings(share=0.25), earned=1.0) as work:
        work.sampler.earn(3.0)

        assert work.sampler.purse.allowance(anyio.current_time()).total_usd == 1.0


async def test_what_finds_no_room_is_let_go_and_counted() -> None:
    settings = SamplingSettings(share=1.0, judge_rate=0.0, trace_rate=1.0, queue=2)
    async with gateway() as parts:
        scene, counted = Scene(parts), Counted()
        dice = np.random.default_rng(1)
        learner = Learner(Kept(), dice, 5)
        sampler = Sampler(settings, scene.laboratory, learner, dice=dice, counts=counted)
        for _ in range(5):
            sampler.offer(scene.answered())
        sampler.close()

    assert counted.results == {("full_trace", "queue_full"): 3}


async def test_as_many_are_studied_as_the_rates_say() -> None:
    settings = SamplingSettings(judge_rate=0.03, trace_rate=0.01, queue=10_000)
    async with gateway() as parts:
        scene, counted = Scene(parts), Counted()
        dice = np.random.default_rng(1)
        learner = Learner(Kept(), dice, 5)
        sampler = Sampler(settings, scene.laboratory, learner, dice=dice, counts=counted)
        answered = scene.answered()
        listened = sum(sampler.listens() is not None for _ in range(20_000))
        for _ in range(20_000):
            sampler.offer(answered)
        waiting = sampler.waiting
        sampler.close()

    assert listened == pytest.approx(600, abs=100)
    assert waiting == pytest.approx(800, abs=120)
    assert not counted.results


async def test_without_a_judge_nothing_is_judged() -> None:
    async with gateway() as parts:
        scene = Scene(parts)
        dice = np.random.default_rng(1)
        learner = Learner(Kept(), dice, 5)
        settings = SamplingSettings(judge_rate=1.0, trace_rate=1.0)
        sampler = Sampler(settings, scene.laboratory, learner, dice=dice, counts=Counted())
        sampler.offer(scene.answered(judge=None))
        nobody = sampler.waiting
        sampler.offer(scene.answered(judge=None, valuer=scene.model("sim-large")))
        somebody = sampler.waiting
        sampler.close()

    assert (nobody, somebody) == (0, 2)


async def test_who_tells_the_worth_need_not_be_who_judges_for_techniques() -> None:
    async with working(TRACES) as work:
        valuer = work.scene.model("sim-large")
        work.sampler.offer(work.scene.answered(judge=None, valuer=valuer))
        await work.done()

    arms = {row.arm for row in work.kept.rows}
    assert {"none", "self_consistency/3", "none/-/sim-large"} <= arms
    assert not {arm for arm in arms if arm.startswith("best_of_n")}


class Buggy(Laboratory):
    """A laboratory in which the first study fails by a bug."""

    async def carry_out(self, study: Study) -> Studied:
        if not self.meters:
            return await Laboratory(self.current, (Facts(),)).carry_out(study)
        object.__setattr__(self, "meters", ())
        raise ValueError("a bug")


async def test_a_bug_in_one_study_does_not_end_the_others() -> None:
    with capture_logs() as logged:
        async with gateway() as parts, anyio.create_task_group() as group:
            scene, counted = Scene(parts), Counted()
            buggy = Buggy(lambda: parts.front.pipeline, (Facts(),))
            dice = np.random.default_rng(1)
            sampler = Sampler(TRACES, buggy, Learner(Kept(), dice, 5), dice=dice, counts=counted)
            sampler.purse.earn(1.0, anyio.current_time())
            group.start_soon(sampler.serve)
            work = Working(scene, sampler, Kept(), counted)
            sampler.offer(scene.answered())
            sampler.offer(scene.answered())
            await work.done(2)
            group.cancel_scope.cancel()

    assert counted.results == {("full_trace", "failed"): 1, ("full_trace", "learnt"): 1}
    assert [entry["event"] for entry in logged if entry["log_level"] == "error"] == ["learning.bug"]
