from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.console import Console

from router_service.evaluation.gate import Rule
from router_service.evaluation.grading import Question
from router_service.evaluation.records import UNREACHED, RecordFile
from router_service.evaluation.report import Report, report
from router_service.evaluation.reports.console import show
from router_service.evaluation.reports.markdown import markdown
from router_service.evaluation.reports.plot import draw
from router_service.evaluation.reports.told import as_json
from router_service.evaluation.running import Plan, run
from router_service.evaluation.samples import METRICS
from techniques.core.json import JsonObject
from techniques.testing import ScriptedChannel
from tests.router_service.evaluation.world import (
    Say,
    grader,
    marks,
    plan,
    questions,
    right,
    sums,
    wrong,
)


def _priced(say: Say, cost: float) -> Say:
    def told(question: Question, repeat: int) -> JsonObject:
        return {"text": say(question, repeat), "cost_usd": cost, "calls": 1, "cost_source": "list"}

    return told


def _failing(question: Question, repeat: int) -> JsonObject:
    del repeat
    if int(question.prompt.id[1:]) % 2:
        return {"error": "It is \x1b[31mdown.", "latency_ms": 5000.0}
    return {"text": f"{question.prompt.reference}", "cost_usd": 0.002, "first_token_ms": 10.0}


async def _found(one: Plan, folder: Path, rules: Sequence[Rule] = ()) -> Report:
    file = RecordFile(folder / "r.jsonl")
    await run(one, file)
    file.close()
    return report(one, file.records, rules, ["a note of before"])


def _printed(found: Report, width: int = 132) -> str:
    out = io.StringIO()
    show(found, Console(file=out, width=width, highlight=False))
    return out.getvalue()


async def test_a_failure_counts_as_nothing_with_its_real_time(tmp_path: Path) -> None:
    says: dict[str, Say] = {"a": _priced(right, 0.001), "b": _failing}
    found = await _found(plan(says, questions(*sums(20))), tmp_path)
    flaky = found.summaries[1]
    assert flaky.means["quality"].mean == flaky.means["error_rate"].mean == 0.5
    assert flaky.means["latency"].mean == pytest.approx((5000 + 100) / 2)
    assert flaky.cost_unknown == 10
    assert flaky.means["cost"].mean == pytest.approx(0.002)
    known = {one.metric.name: one.known for one in found.comparisons}
    assert (known["quality"], known["cost"]) == (1.0, 0.5)


async def test_what_is_not_known_is_never_nothing(tmp_path: Path) -> None:
    found = await _found(plan({"a": right, "b": wrong}, questions(*sums(9))), tmp_path)
    assert all("cost" not in one.means for one in found.summaries)
    assert [one.objectives for one in found.frontiers] == [("quality", "latency")]
    assert not draw(found, tmp_path / "p.svg")
    assert any("9 of 9 answers is not known" in note for note in found.notes)


async def test_repeats_are_averaged_within_a_prompt(tmp_path: Path) -> None:
    def moody(question: Question, repeat: int) -> str:
        return right(question, repeat) if repeat < 1 else wrong(question, repeat)

    one = plan({"a": right, "b": moody}, questions(*sums(12)), repeats=3)
    found = await _found(one, tmp_path)
    quality = found.comparisons[0]
    assert (quality.prompts, quality.difference.units) == (12, 12)
    assert quality.candidate_mean == pytest.approx(1 / 3)
    assert found.summaries[0].answers == 36


async def test_one_configuration_is_a_plain_report(tmp_path: Path) -> None:
    found = await _found(plan({"a": right}, questions(*sums(9))), tmp_path)
    assert (found.comparisons, found.frontiers, found.exit_code) == ([], [], 0)
    assert "1.000" in _printed(found)


async def test_a_run_that_is_not_done_tells_what_is_there(tmp_path: Path) -> None:
    asked = questions(*sums(10))
    await _found(plan({"a": right, "b": wrong}, asked[:4]), tmp_path)
    file = RecordFile(tmp_path / "r.jsonl")
    rules = [Rule(METRICS["quality"], 0.02)]
    found = report(plan({"a": right, "b": right}, asked), file.records, [], [])
    gated = report(plan({"a": right, "b": right}, asked), file.records, rules, [])
    file.close()
    assert (found.prompts, found.planned, found.missing) == (4, 10, 12)
    assert any("12 answers are still missing" in note for note in found.notes)
    assert (found.exit_code, gated.exit_code) == (0, 2)


async def test_servers_that_went_away_prove_nothing(tmp_path: Path) -> None:
    def leaving(question: Question, repeat: int) -> JsonObject | str:
        there = int(question.prompt.reference or 0) <= 20
        return right(question, repeat) if there else {"error": "No.", "error_kind": UNREACHED}

    file = RecordFile(tmp_path / "r.jsonl")
    one = plan({"a": leaving, "b": leaving}, questions(*sums(30)))
    await run(one, file)
    found = report(one, file.records, [Rule(METRICS["quality"], 0.02)], [])
    file.close()
    assert (found.missing, found.exit_code) == (20, 2)
    assert found.summaries[0].means["quality"].mean == pytest.approx(2 / 3)
    assert any("20 answers are still missing" in note for note in found.notes)


async def test_only_a_share_has_the_interval_of_a_share(tmp_path: Path) -> None:
    one = plan({"a": lambda *_: {"text": "1", "cost_usd": 0.0, "calls": 1}}, questions(*sums(40)))
    means = (await _found(one, tmp_path)).summaries[0].means
    for metric in ("cost", "calls"):
        interval = means[metric].interval
        assert interval is None or interval.low == interval.high == means[metric].mean
    errors = means["error_rate"].interval
    assert errors is not None
    assert errors.high == pytest.approx(0.0876, abs=1e-4)


async def test_nothing_at_all_is_told_too(tmp_path: Path) -> None:
    file = RecordFile(tmp_path / "r.jsonl")
    found = report(plan({"a": right, "b": wrong}, questions(*sums(3))), file.records, [], [])
    file.close()
    assert found.prompts == 0
    assert json.loads(as_json(found))["missing"] == 6
    assert "0 of 3 prompts" in _printed(found)
    assert "0 of 3 prompts" in markdown(found)


async def test_a_report_is_told_in_three_ways(tmp_path: Path) -> None:
    says: dict[str, Say] = {"a": _priced(right, 0.001), "b": _priced(wrong, 0.1)}
    rules = [Rule(METRICS["quality"], 0.02), Rule(METRICS["error_rate"], 0.02, guard=True)]
    asked = questions(*(row | {"category": f"c{n % 2}"} for n, row in enumerate(sums(40))))
    found = await _found(plan(says, asked), tmp_path, rules)
    assert found.exit_code == 1
    told = json.loads(as_json(found))
    (quality,) = (one for one in told["comparisons"] if one["metric"] == "quality")
    assert (quality["test"], quality["wins"]["below"]) == ("McNemar", 40)
    assert quality["p"] < quality["p_adjusted"] < 1e-9
    assert told["gate"][0]["outcome"] == "block"
    text, shown = markdown(found, "frontier.svg"), _printed(found)
    for each in (text, shown):
        assert "BLOCK b on quality" in each
        assert "n = 40, difference -1.000" in each
        assert "x100" in each
    assert "![Cost against quality](frontier.svg)" in text
    assert "## Quality by category" in text
    assert max(map(len, shown.splitlines())) <= 132
    assert len(shown.splitlines()) < 40


async def test_what_servers_say_cannot_speak_to_a_terminal_or_break_a_table(
    tmp_path: Path,
) -> None:
    def said(question: Question, repeat: int) -> JsonObject:
        del question, repeat
        return {"error": "a | b\n<script>\x1b[2J [red]x[/red]", "warnings": ("[b]|\x07",)}

    found = await _found(plan({"a": right, "b": said}, questions(*sums(3))), tmp_path)
    shown, text = _printed(found), markdown(found)
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "[red]x[/red]" in shown
    assert "<script>" not in text
    assert "a \\| b" in text


@pytest.mark.parametrize("name", ["p.svg", "p.png"])
async def test_cost_is_drawn_against_quality(tmp_path: Path, name: str) -> None:
    says: dict[str, Say] = {"cheap": _priced(wrong, 0.001), "dear": _priced(right, 0.1)}
    found = await _found(plan(says, questions(*sums(30))), tmp_path)
    pictures = []
    for _ in range(2):
        assert draw(found, tmp_path / name)
        pictures.append((tmp_path / name).read_bytes())
    assert pictures[0] == pictures[1]
    assert pictures[0].startswith(b"<?xml" if name.endswith("svg") else b"\x89PNG")


async def test_the_judge_is_told_with_how_far_it_is_to_be_believed(tmp_path: Path) -> None:
    judge = ScriptedChannel(lambda _: marks(compared=True))
    asked = questions(*sums(12), strategy="blended")
    one = plan({"a": right, "b": wrong}, asked, grader=grader("blended", judge))
    found = await _found(one, tmp_path)
    assert found.audit is not None
    assert (found.audit.judged, found.audit.noise, found.audit.unparsable) == (24, 0.0, 0.0)
    assert (found.audit.swapped, found.audit.all_true) == (0, 1.0)
    assert "judge judge-model" in _printed(found)


async def test_a_judge_that_prefers_a_place_or_a_length_is_found_out(tmp_path: Path) -> None:
    def script(request: object) -> str:
        text = f"{request}"
        if "Two answers" in text:
            return json.dumps({"winner": "1"})
        return marks(int("!!!" in text), compared=True)

    def long(question: Question, repeat: int) -> str:
        return "Well" + "!" * int(question.prompt.id[1:]) + right(question, repeat)

    judge = ScriptedChannel(script)
    asked = questions(*sums(12), strategy="blended")
    found = await _found(
        plan({"a": long, "b": right}, asked, grader=grader("blended", judge)), tmp_path
    )
    assert found.audit is not None
    assert found.audit.disagreement == 1.0
    assert found.audit.length_slope is not None
    assert found.audit.length_slope > 0.5


async def test_prompts_of_one_document_are_told(tmp_path: Path) -> None:
    rows = [row | {"metadata": {"document": n // 3}} for n, row in enumerate(sums(12))]
    found = await _found(plan({"a": right, "b": wrong}, questions(*rows)), tmp_path)
    assert found.clusters == 4
    assert any("one document" in note for note in found.notes)
    assert found.comparisons[0].difference.units == 4


@pytest.mark.parametrize("width", [60, 40])
async def test_no_number_is_cut_short_on_a_narrow_terminal(tmp_path: Path, width: int) -> None:
    says: dict[str, Say] = {"a": _priced(right, 0.00123), "b": _priced(wrong, 0.00456)}
    told = _printed(await _found(plan(says, questions(*sums(20))), tmp_path), width)
    assert "…" not in told
    assert width < 60 or "1.000 [0.839, 1.000]" in told


async def test_a_difference_and_its_ends_are_told_in_one_way(tmp_path: Path) -> None:
    def dear(question: Question, repeat: int) -> JsonObject:
        return {"text": right(question, repeat), "cost_usd": 0.01 + 0.002 * len(question.prompt.id)}

    says: dict[str, Say] = {"a": _priced(right, 0.0014), "b": dear}
    rows = [row | {"id": f"q{'0' * (n % 3)}{n}"} for n, row in enumerate(sums(40))]
    found = await _found(plan(says, questions(*rows)), tmp_path, [Rule(METRICS["cost"], 0.1)])
    (line,) = (one for one in _printed(found).splitlines() if " cost " in one and "[x" in one)
    assert line.count("x1") == 3
    assert "%" not in line.partition("[x")[0]
