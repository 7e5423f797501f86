"""What of an evaluation a router can learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gateway.evaluating.observing import lines, observations
from router_service.contract import Observation, Vector
from router_service.evaluation.configurations import configuration
from router_service.evaluation.grading import Question
from router_service.evaluation.records import AnswerRow, RecordFile
from router_service.evaluation.running import Contestant, Plan, run
from tests.router_service.evaluation.world import grader, questions, row, sums

STATED = {
    "plain": "",
    "vote": "technique=self_consistency",
    "seven": "technique=self_consistency params.num_samples=7",
    "refine": "technique=chain_of_verification",
    "auto": "technique=auto",
    "elsewhere": "technique=cisc headers.x-lockgate-channels=others",
    "warm": "technique=cisc body.temperature=1",
}


class _Encoder:
    name = "letters"

    async def encode(self, text: str) -> Vector | None:
        return Vector(encoder=self.name, values=(float(len(text)), 1.0))


class _Caller:
    """Answers right if it is no plain call, at ten times the price."""

    def __init__(self, stated: Any) -> None:
        self._stated = stated

    async def answer(self, question: Question, repeat: int) -> AnswerRow:
        technique = self._stated.technique or "none"
        plain = technique == "none"
        told = row(
            question, repeat=repeat, cost_usd=0.001 if plain else 0.01, calls=1 if plain else 5
        )
        said = "-1" if plain else f"{question.prompt.reference}"
        mine = {"config_hash": self._stated.hash, "technique": technique, "text": said}
        return told.model_copy(update=mine)


def _plan(*names: str) -> Plan:
    stated = [
        configuration(f"{name}=http://x/v1 model=gpt-4o-mini {STATED[name]}", lambda _: None, str)
        for name in names
    ]
    asked = questions(*sums(3, category="sums"))
    return Plan([Contestant(one, _Caller(one)) for one in stated], asked, grader(), repeats=2)


async def _found(plan: Plan, folder: Path) -> list[Observation]:
    file = RecordFile(folder / "r.jsonl")
    await run(plan, file)
    file.close()
    return await observations(plan, file.records, _Encoder())


async def test_each_answer_stands_beside_the_plain_call_of_the_same_prompt(tmp_path: Path) -> None:
    found = await _found(_plan("plain", "vote", "seven", "refine"), tmp_path)
    arms = {one.arm for one in found}
    assert arms >= {"none", "self_consistency/5", "self_consistency/7"}
    assert len(found) == len({one.id for one in found}) == 3 * 2 * 4
    for one in found:
        plain = one.arm == "none"
        assert (one.quality, one.plain_quality) == (0.0 if plain else 1.0, 0.0)
        assert one.cost == pytest.approx(1 if plain else 10)
        assert (one.source, one.reliability, one.propensity) == ("tests", 1.0, 1.0)
        assert (one.pool[0].family, one.features.label) == ("gpt-4o-mini", "sums")
    requests = {(one.request_id, one.vector) for one in found}
    assert len(requests) == 6


async def test_what_is_written_is_what_a_router_reads_and_has_no_text(tmp_path: Path) -> None:
    found = await _found(_plan("plain", "vote"), tmp_path)
    told = list(lines(found))
    assert [Observation.model_validate_json(line) for line in told] == found
    assert not any("+ 1?" in line for line in told)


async def test_what_has_no_plain_call_or_is_of_unknown_models_is_left_out(tmp_path: Path) -> None:
    found = await _found(_plan("plain", "vote", "auto", "elsewhere", "warm"), tmp_path)
    assert {one.arm for one in found} == {"none", "self_consistency/5"}
    (tmp_path / "r.jsonl").unlink()
    assert await _found(_plan("vote", "seven"), tmp_path) == []
