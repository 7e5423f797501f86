"""``lockgate eval``, against servers that play scripts."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from typer.testing import CliRunner

from gateway.cli import main
from gateway.evaluating import calling, carrying, insisting
from gateway.evaluating.calling import HttpCaller
from router_service.evaluation.configurations import configuration
from router_service.evaluation.grading import Question, Rules
from router_service.evaluation.prompts import Prompt
from router_service.evaluation.records import UNREACHED, AnswerRow
from techniques.core.json import JsonObject
from techniques.parts.scoring import Scoring
from tests.fakes import script
from tests.fakes.script import Answer
from tests.fakes.upstream import Asked, ScriptedUpstream, dead_port
from tests.router_service.evaluation.world import marks

SECRET = "canary-reference-7719"
MODELS: JsonObject = {"object": "list", "data": []}


@pytest.fixture
def upstream() -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream() as server:
        yield server


class Desk:
    """A folder in which the command is typed; servers answer as *choose* says."""

    def __init__(self, folder: Path, upstream: ScriptedUpstream) -> None:
        self.folder = folder
        self.upstream = upstream
        self.url = f"http://127.0.0.1:{upstream.port}/v1"
        self.file = folder / "prompts.jsonl"
        self.prompts(*({"prompt": f"{n} + 1?", "reference": n + 1} for n in range(12)))

    def prompts(self, *rows: JsonObject) -> None:
        told = ({"score_mode": "numeric", **row} for row in rows)
        self.file.write_text("\n".join(map(json.dumps, told)), "utf-8")

    def answers(self, answer: Answer) -> None:
        self.upstream.chooses(lambda asked: script.body(MODELS) if _asks(asked) else answer)

    def run(self, *arguments: str, **environment: str) -> tuple[int, str]:
        typed = ["eval", "--prompts", str(self.file), "-o", str(self.folder / "out"), *arguments]
        result = CliRunner().invoke(main, typed, env=environment)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.output
        return result.exit_code, result.output

    def both(self, *arguments: str, model: str = "m") -> tuple[int, str]:
        """Compare the model *model* with one called other."""
        return self.run(
            "-c", f"a={self.url} model={model}", "-c", f"b={self.url} model=other", *arguments
        )

    def rows(self, kind: str) -> list[JsonObject]:
        lines = (self.folder / "out" / "records.jsonl").read_text("utf-8").split("\n")[:-1]
        return [row for row in map(json.loads, lines) if row["kind"] == kind]

    def told(self) -> JsonObject:
        found: JsonObject = json.loads((self.folder / "out" / "report.json").read_text("utf-8"))
        return found


@pytest.fixture
def desk(tmp_path: Path, upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch) -> Desk:
    soon = replace(insisting.AGAIN, backoff_s=0.001, max_wait_s=1.0)
    monkeypatch.setattr(calling, "AGAIN", soon)
    return Desk(tmp_path, upstream)


def _asks(asked: Asked) -> bool:
    """Tell whether it is only asked if somebody is there."""
    return asked.method == "GET"


def _streamed(text: str, *more: bytes) -> Answer:
    return script.sse(script.text(text), script.finish(), *more, script.done())


def test_what_lockgate_tells_of_a_call_is_believed(desk: Desk) -> None:
    trailer = {
        "cost_usd": "0.0125",
        "cost_source": "list",
        "calls": 5,
        "request_id": "r1",
        "technique": "self_consistency",
        "warnings": ["no_consensus: 2 of 5"],
        "cost_tier": "list",
    }
    desk.answers(
        _streamed("So 1", script.usage(9, 4), b": lockgate " + script.dumps(trailer) + b"\n\n")
    )
    code, out = desk.run("-c", f"a={desk.url} model=m technique=self_consistency")
    assert code == 0, out
    row = desk.rows("answer")[0]
    assert (row["cost_usd"], row["calls"], row["technique"]) == (0.0125, 5, "self_consistency")
    assert (row["warnings"], row["request_id"]) == (["no_consensus: 2 of 5"], "r1")
    assert row["cost_tier"] == "list"
    assert desk.told()["configurations"][0]["cost_tiers"] == {"list": 12}
    assert row["first_token_ms"] <= row["latency_ms"]
    assert (row["input_tokens"], row["output_tokens"]) == (9, 4)


def test_an_answer_in_one_piece_tells_it_in_its_usage_and_head(desk: Desk) -> None:
    usage = script.counts(9, 4, lockgate={"calls": 3, "cost_usd": "0.5", "cost_source": "list"})
    message = {"role": "assistant", "content": "So 1"}
    whole = {"id": "x", "object": "chat.completion", "model": "m", "usage": usage}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    head = {"x-lockgate-technique": "none", "x-lockgate-warnings": "one; two"}
    desk.answers(script.body({**whole, "choices": [choice]}, headers=head))
    desk.run("-c", f"a={desk.url} model=m")
    row = desk.rows("answer")[0]
    assert (row["cost_usd"], row["calls"], row["technique"]) == (0.5, 3, "none")
    assert row["warnings"] == ["one", "two"]


def test_elsewhere_the_price_and_the_tokens_tell_what_it_cost(desk: Desk) -> None:
    desk.answers(_streamed("So 1", script.usage(1000, 100)))
    desk.run("-c", f"a={desk.url} model=m pricing.input=2 pricing.output=10")
    row = desk.rows("answer")[0]
    assert row["cost_usd"] == pytest.approx(0.003)
    assert (row["cost_source"], row["calls"]) == ("pricing", 1)


@pytest.mark.parametrize("fields", ["", "pricing.input=2 pricing.output=10"])
def test_without_a_price_or_tokens_the_cost_is_unknown_and_not_0(desk: Desk, fields: str) -> None:
    more = [] if fields else [script.usage(1000, 100)]
    desk.answers(_streamed("So 1", *more))
    code, out = desk.both("--gate-on", "cost")
    assert desk.rows("answer")[0]["cost_usd"] is None
    assert (code, "cost of 12 of 12 answers is not known" in out) == (2, True)


def test_a_reference_never_reaches_who_is_evaluated(desk: Desk) -> None:
    desk.prompts(
        {
            "id": f"{SECRET}-id",
            "prompt": "Who?",
            "reference": SECRET,
            "score_mode": "exact_match",
            "category": f"{SECRET}-category",
            "metadata": {"note": SECRET, "tests": SECRET},
        }
    )

    def choose(asked: Asked) -> Answer:
        if _asks(asked):
            return script.body(MODELS)
        judging = asked.body["model"] == "judge"
        return _streamed(marks(compared=True) if judging else "Ada.")

    desk.upstream.chooses(choose)
    code, out = desk.both("--judge", f"{desk.url} model=judge")
    assert code == 0, out
    sent = {"judge": b"", "others": b""}
    for asked in desk.upstream.asked:
        whose = "judge" if b'"judge"' in asked.raw else "others"
        sent[whose] += asked.raw + repr(asked.headers).encode()
    assert SECRET.encode() not in sent["others"]
    assert SECRET.encode() in sent["judge"]
    assert b'"other"' in sent["others"]
    assert b'"other"' not in sent["judge"]


def test_headers_keys_and_settings_are_sent_and_never_written_down(desk: Desk) -> None:
    desk.answers(_streamed("So 1"))
    file = desk.folder / "a.yaml"
    file.write_text(
        f"base_url: {desk.url}\nmodel: m\napi_key: ${{CANARY}}\nheaders: {{x-team: blue}}\n"
        "technique: cisc\nparams: {num_samples: 3}\nbody: {temperature: 0.5, odd_field: 1}\n"
    )
    code, out = desk.run("-c", f"a={file} lambda=2", CANARY="sk-canary-51")
    assert code == 0, out
    asked = next(one for one in desk.upstream.asked if not _asks(one))
    assert asked.header("authorization") == "Bearer sk-canary-51"
    assert asked.header("x-lockgate-technique") == "cisc"
    assert json.loads(asked.header("x-lockgate-params") or "") == {"num_samples": 3}
    assert (asked.header("x-lockgate-lambda"), asked.header("x-team")) == ("2", "blue")
    assert (asked.body["temperature"], asked.body["odd_field"]) == (0.5, 1)
    for path in (desk.folder / "out").iterdir():
        assert b"sk-canary-51" not in path.read_bytes()
    assert "sk-canary-51" not in out


def test_a_server_that_is_not_there_ends_it_before_anybody_is_asked(desk: Desk) -> None:
    desk.answers(_streamed("So 1"))
    held, port = dead_port()
    with held:
        code, out = desk.run(
            "-c", f"a={desk.url} model=m", "-c", f"gone=http://127.0.0.1:{port}/v1 model=m"
        )
    assert (code, "gone: http://127.0.0.1" in out) == (2, True)
    assert desk.rows("answer") == []


def test_all_servers_that_are_not_there_are_named_and_that_is_no_verdict(desk: Desk) -> None:
    held, port = dead_port()
    names = ("a", "b", "c")
    with held:
        typed = (f"-c {name}=http://127.0.0.1:{port}/v1 model={name}" for name in names)
        arguments = [part for one in typed for part in one.split(" ", 1)]
        code, out = desk.run(*arguments, "--gate-on", "quality")
    assert code == 2, out
    assert [f"{name}: http://127.0.0.1" in out for name in names] == [True] * 3


async def _asked_of(port: int) -> AnswerRow:
    stated = configuration(f"a=http://127.0.0.1:{port}/v1 model=m", lambda _: None, json.loads)
    prompt = Prompt.model_validate({"prompt": "0 + 1?"})
    caller = HttpCaller(stated)
    question = Question(prompt, caller.request(prompt), Rules(Scoring(None, "exact")))
    answer = await caller.answer(question, 0)
    await caller.close()
    return answer


def test_a_server_that_went_away_is_told_from_one_that_failed() -> None:
    held, port = dead_port()
    with held:
        answer = anyio.run(_asked_of, port)
    assert answer.error
    assert answer.is_unasked


@pytest.mark.parametrize(
    "answer",
    [
        script.raw(b"<html>no</html>"),
        script.raw(b""),
        script.body({"choices": 7}),
        script.error(500),
        script.error(429, "slow down"),
        script.sse(script.text("So 1")),
        Answer((b"x" * 10,), end="reset"),
    ],
)
def test_whatever_a_server_answers_is_a_failure_that_counts(desk: Desk, answer: Answer) -> None:
    def choose(asked: Asked) -> Answer:
        if _asks(asked):
            return answer
        return answer if asked.body["model"] == "other" else _streamed("So 1")

    desk.upstream.chooses(choose)
    desk.prompts({"prompt": "0 + 1?", "reference": 1})
    code, out = desk.both()
    assert code == 0, out
    (failed,) = (row for row in desk.rows("answer") if row["config"] == "b")
    assert failed["error"]
    assert failed["latency_ms"] > 0
    assert failed["error_kind"] not in {"", UNREACHED}
    grades = {row["config_hash"]: row["quality"] for row in desk.rows("grade")}
    assert grades[failed["config_hash"]] == 0.0


BUSY = [
    (script.error(429, "slow down"), 3),
    (script.error(500), 3),
    (script.error(503), 3),
    (script.error(429, "slow down", headers={"retry-after": "0.01"}), 3),
    (script.error(429, "slow down", headers={"retry-after": "30"}), 0),
    (script.error(400, "no", "invalid_request_error"), 0),
    (script.error(401), 0),
]


@pytest.mark.parametrize(("refusal", "retries"), BUSY)
def test_what_is_busy_is_asked_again_but_not_for_ever(
    desk: Desk, refusal: Answer, retries: int
) -> None:
    desk.upstream.chooses(lambda asked: script.body(MODELS) if _asks(asked) else refusal)
    desk.prompts({"prompt": "0 + 1?", "reference": 1})
    code, out = desk.run("-c", f"a={desk.url} model=m")
    assert code == 0, out
    (row,) = desk.rows("answer")
    assert (bool(row["error"]), row["retries"]) == (True, retries)
    assert sum(not _asks(asked) for asked in desk.upstream.asked) == retries + 1


def test_an_answer_that_came_at_last_counts_with_all_that_it_cost(desk: Desk) -> None:
    refused = script.error(503, headers={"x-lockgate-cost-usd": "0.25"})
    trailer = {"cost_usd": "0.5", "cost_source": "list"}
    answered = _streamed("So 1", b": lockgate " + script.dumps(trailer) + b"\n\n")
    said = iter([refused, refused])
    desk.upstream.chooses(
        lambda asked: script.body(MODELS) if _asks(asked) else next(said, answered)
    )
    desk.prompts({"prompt": "0 + 1?", "reference": 1})
    code, out = desk.run("-c", f"a={desk.url} model=m")
    assert code == 0, out
    (row,) = desk.rows("answer")
    assert (row["error"], row["retries"], row["cost_usd"]) == ("", 2, 1.0)
    assert any("1 of 1 answers were refused at first" in note for note in desk.told()["notes"])


@pytest.mark.parametrize("refusal", [script.error(401, "who are you"), script.error(500, "oh no")])
def test_why_a_judge_failed_is_kept_and_shown(desk: Desk, refusal: Answer) -> None:
    def choose(asked: Asked) -> Answer:
        if _asks(asked):
            return script.body(MODELS)
        return refusal if asked.body["model"] == "judge" else _streamed("So 1")

    desk.upstream.chooses(choose)
    desk.prompts({"prompt": "0 + 1?", "reference": 1})
    code, out = desk.run("-c", f"a={desk.url} model=m", "--judge", f"{desk.url} model=judge")
    assert code == 0, out
    (grade,) = desk.rows("grade")
    assert grade["judged"] is None
    assert grade["judge_error"]
    told = f"The judge failed on 1 of 1 answers: {grade['judge_error']}"
    assert told in desk.told()["notes"]
    assert told[:40] in out


def test_who_does_not_come_to_an_end_in_time_has_failed(desk: Desk) -> None:
    hanging = script.sse(script.text("So"), end="hold")
    desk.upstream.chooses(lambda asked: script.body(MODELS) if _asks(asked) else hanging)
    desk.prompts({"prompt": "0 + 1?", "reference": 1})
    code, out = desk.run("-c", f"a={desk.url} model=m timeout_s=0.3")
    assert code == 0, out
    (row,) = desk.rows("answer")
    assert row["error"]
    assert row["latency_ms"] >= 250


def test_a_judge_that_refuses_a_form_is_asked_without(desk: Desk) -> None:
    def choose(asked: Asked) -> Answer:
        if _asks(asked):
            return script.body(MODELS)
        if asked.body["model"] != "judge":
            return _streamed("So 1")
        if "response_format" in asked.body:
            return script.error(400, "no such field", "invalid_request_error")
        return _streamed(marks(compared=True))

    desk.upstream.chooses(choose)
    code, out = desk.run(
        "-c", f"a={desk.url} model=m", "--judge", f"{desk.url} model=judge", "--parallel", "1"
    )
    assert code == 0, out
    assert all(row["judged"] == 1.0 for row in desk.rows("grade"))
    formed = [one for one in desk.upstream.asked if b"response_format" in one.raw]
    assert len(formed) == 1


def test_a_judge_of_the_same_family_is_warned_of(desk: Desk) -> None:
    desk.answers(_streamed(marks(compared=True)))
    arguments = ("-c", f"a={desk.url} model=gpt-4o", "-c", f"b={desk.url} model=claude-x")
    _, out = desk.run(*arguments, "--judge", f"{desk.url} model=gpt-5")
    assert "family of a, and may favour" in out


def _of_quality(desk: Desk, good: str, other: str) -> None:
    """Let the model "other" answer *other* and all else *good*."""

    def choose(asked: Asked) -> Answer:
        if _asks(asked):
            return script.body(MODELS)
        n = int(asked.body["messages"][0]["content"].split()[0])
        said = other if asked.body["model"] == "other" else good
        return _streamed(said.format(n + 1), script.usage(10, 4))

    desk.upstream.chooses(choose)


@pytest.mark.parametrize(
    ("good", "other", "code"), [("{}", "{}", 0), ("{}", "-7", 1), ("-7", "{}", 0)]
)
def test_the_gate_tells_by_its_exit_code(desk: Desk, good: str, other: str, code: int) -> None:
    _of_quality(desk, good, other)
    found, out = desk.both("--gate-on", "quality", "--max-regression", "0.05")
    assert found == code, out
    assert "n = 12" in out
    assert desk.told()["exit_code"] == code


def test_a_gate_that_cannot_tell_ends_with_two(desk: Desk) -> None:
    desk.prompts(*({"prompt": f"{n} + 1?", "reference": n + 1} for n in range(2)))
    _of_quality(desk, "{}", "-7")
    code, out = desk.both("--gate-on", "quality", "--max-regression", "quality=0.05")
    assert (code, "underpowered" in out) == (2, True)


def test_the_baseline_may_be_another_than_the_first(desk: Desk) -> None:
    _of_quality(desk, "{}", "-7")
    code, out = desk.both("--gate-on", "quality", "--baseline", "b")
    assert (code, "PASS a on quality" in out) == (0, True)


def test_unusable_lines_are_named_and_the_others_asked(desk: Desk) -> None:
    desk.answers(_streamed("So 1"))
    lines = [
        desk.file.read_text("utf-8"),
        "{",
        '{"prompt": "x", "score_mode": "yes_no", "reference": "7"}',
    ]
    desk.file.write_text("\n".join(lines), "utf-8-sig")
    code, out = desk.run("-c", f"a={desk.url} model=m")
    assert code == 0, out
    flat = " ".join(out.split())
    assert "line 13: it is no JSON" in flat
    assert "line 14: The reference '7' is neither yes nor no" in flat
    assert desk.told()["prompts"] == 12


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["-c", "a"], "is not NAME=FILE"),
        (["-c", "URL model=m"], "is not NAME=FILE"),
        (["-c", "a=URL"], "model: Field required"),
        (["-c", "a=URL model=m", "-c", "a=URL model=n"], "two configurations are called 'a'"),
        (["-c", "a=URL model=m", "-c", "b=URL model=m"], "differ in nothing but their names"),
        (["-c", "a=URL model=m", "--gate-on", "quality"], "nothing to be compared with"),
        (["-c", "a=URL model=m", "--baseline", "z"], "no configuration 'z'"),
        (["-c", "a=URL model=m", "--score", "best"], "blended, exact, judge"),
        (["-c", "a=URL model=m", "--score", "judge"], "name one with --judge"),
        (["-c", "a=URL model=m dialect=morse"], "there is none called 'morse'"),
        (["-c", "a=URL model=m pricing.input=x"], "pricing.input"),
        (["-c", "a=URL model=m", "--max-regression", "0.1"], "with --gate-on"),
        (["-c", "a=URL model=m", "--plot", "x.pdf"], ".svg or .png"),
        ([*["-c", "a=_", "-c", "b=-"], "--gate-on", "charm"], "there is no metric 'charm'"),
        ([*["-c", "a=_", "-c", "b=-"], "--gate-on", "cost", "--max-regression", "x"], "no number"),
        (
            [*["-c", "a=_", "-c", "b=-"], "--gate-on", "cost", "--max-regression", "quality=1"],
            "does not name quality",
        ),
        (
            [*["-c", "a=_", "-c", "b=-"], "--gate-on", "cost", "--gate-mode", "hard"],
            "noninferiority",
        ),
        (["-c", "a=gone.yaml"], "gone.yaml"),
        (["-c", "a=URL model=m", "--sandbox", "cellar"], "process, docker, off"),
    ],
)
def test_what_cannot_be_done_is_said(desk: Desk, arguments: list[str], told: str) -> None:
    desk.answers(_streamed("So 1"))
    short = {"a=_": "a=URL model=m", "b=-": "b=URL model=n"}
    typed = [short.get(one, one).replace("URL", desk.url) for one in arguments]
    code, out = desk.run(*typed)
    assert (code, told in " ".join(out.split())) == (2, True), out


def test_what_no_comparison_can_mark_needs_a_judge(desk: Desk) -> None:
    desk.prompts(*({"prompt": f"Poem {n}?", "score_mode": "judge"} for n in range(7)))
    code, out = desk.run("-c", f"a={desk.url} model=m")
    assert code == 2
    assert "7 of 7 prompts can be marked by a judge only: line 1, line 2" in out


def test_what_it_needs_beside_the_gateway_is_named(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    code, out = desk.run("-c", f"a={desk.url} model=m")
    assert (code, out.strip()) == (2, "error: eval needs scipy: install lockgate[eval]")


def test_programs_are_run_behind_walls_or_not_at_all(desk: Desk) -> None:
    program = "```python\ndef f(x):\n    return x + 1\n```"
    desk.answers(_streamed(program))
    desk.prompts({"prompt": "f?", "score_mode": "code", "metadata": {"tests": "assert f(1) == 2"}})
    code, out = desk.run("-c", f"a={desk.url} model=m", "--sandbox", "off")
    assert (code, "the sandbox is off" in out) == (0, True)
    assert desk.rows("grade")[0]["quality"] == 0.5
    desk.run("-c", f"a={desk.url} model=m")
    last = desk.rows("grade")[-1]
    assert last["quality"] == 1.0 or last["note"] == "not run"
    assert len(desk.rows("answer")) == 1


def test_who_writes_into_the_same_folder_is_sent_away(desk: Desk) -> None:
    from router_service.evaluation.records import RecordFile

    (desk.folder / "out").mkdir()
    file = RecordFile(desk.folder / "out" / "records.jsonl")
    code, out = desk.run("-c", f"a={desk.url} model=m")
    file.close()
    assert (code, "another evaluation" in " ".join(out.split())) == (2, True)


@pytest.mark.parametrize("at_once", [1, 2])
def test_a_full_disk_is_no_verdict(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    full = OSError(errno.ENOSPC, "No space left on device")

    async def run(*_: object) -> None:
        raise full if at_once == 1 else ExceptionGroup("", [ExceptionGroup("", [full]), full])

    monkeypatch.setattr(carrying, "run", run)
    desk.answers(_streamed("So 1"))
    code, out = desk.both("--gate-on", "quality")
    assert (code, "No space left on device" in " ".join(out.split())) == (2, True), out


@pytest.mark.parametrize("name", ["report.json", "report.md", "frontier.svg", "observations.jsonl"])
def test_what_cannot_be_written_down_is_no_verdict(desk: Desk, name: str) -> None:
    (desk.folder / "out" / name).mkdir(parents=True)
    told = {"cost_usd": "0.1", "calls": 1}
    desk.answers(_streamed("So 1", b": lockgate " + script.dumps(told) + b"\n\n"))
    code, out = desk.both("--gate-on", "quality", "--observations")
    assert (code, name in "".join(out.split())) == (2, True), out


def test_a_mistake_of_ours_is_not_taken_for_a_full_disk(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run(*_: object) -> None:
        raise ExceptionGroup("", [OSError("full"), ZeroDivisionError("ours")])

    monkeypatch.setattr(carrying, "run", run)
    desk.answers(_streamed("So 1"))
    code, out = desk.both()
    assert (code, "It was stopped: full" in out) == (2, False), out


def test_no_other_command_waits_for_what_it_needs() -> None:
    heavy = ("scipy", "matplotlib", "rich.progress", "router_service.evaluation")
    code = f"import gateway.cli, sys; print([n for n in {heavy} if n in sys.modules])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
