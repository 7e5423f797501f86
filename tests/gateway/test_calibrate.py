from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from typer.testing import CliRunner

from gateway.calibrate import (
    Marked,
    Question,
    UnusableQuestions,
    calibration,
    marked,
    read_questions,
    rendered,
)
from gateway.cli import main
from gateway.config.calibration import measured
from techniques.core.errors import UpstreamFailed
from techniques.core.reply import Reply, replied
from techniques.core.request import Request, said

SUM = Question([{"role": "user", "content": "What is 6 * 7?"}], "42")


async def mark(answer: str, text: str = "What is 6 * 7?", reference: str = "42") -> Marked:
    async def ask(model: str, question: Question) -> tuple[Request, Reply]:
        return Request(model, (said("user", text),)), replied(answer)

    (only,) = await marked(ask, ["m"], [Question([], reference)])
    return only


def test_a_question_is_a_prompt_or_a_conversation_with_its_reference() -> None:
    turns = [{"role": "user", "content": "hi"}]
    lines = [{"prompt": "6 * 7?", "reference": 42, "id": 1}, {"messages": turns, "reference": "b"}]

    found = read_questions("\n".join(orjson.dumps(line).decode() for line in lines) + "\n\n")

    assert [one.reference for one in found] == ["42", "b"]
    assert found[0].messages == [{"role": "user", "content": "6 * 7?"}]
    assert found[1].messages == turns


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "there is no question"),
        ('{"prompt": "x", "reference": "y"}\n{"prompt": "x"}', "line 2: reference"),
        ('{"reference": "y"}', "either prompt or messages"),
        ('{"messages": [], "reference": "y"}', "line 1: messages"),
        ("not json", "line 1: "),
    ],
)
def test_a_line_that_is_no_question_is_told(text: str, fault: str) -> None:
    with pytest.raises(UnusableQuestions, match=fault):
        read_questions(text)


async def test_an_answer_is_right_however_it_is_worded() -> None:
    assert await mark("So it is 40 + 2.\n\n**42**") == Marked("m", "number", right=True)
    assert await mark("The answer is 41.") == Marked("m", "number", right=False)
    assert await mark("I would rather not say.") == Marked("m", "number", right=False)


async def test_what_only_words_could_tell_is_not_graded() -> None:
    reference = "Because light of short waves is scattered more than light of long ones is."
    graded = await mark("It scatters.", "Explain why the sky is blue.", reference)

    assert graded == Marked("m", "", right=None)
    assert "1 answers could not be graded" in rendered(calibration([graded], ""), [graded])


async def test_a_call_that_fails_tells_nothing_of_the_model() -> None:
    async def ask(model: str, question: Question) -> tuple[Request, Reply]:
        if model == "down":
            raise UpstreamFailed("down")
        return Request(model, (said("user", "What is 6 * 7?"),)), replied("42")

    marks = await marked(ask, ["up", "down"], [SUM, SUM, SUM])
    file = calibration(marks, "2026-11-29")

    assert list(file.models) == ["up"]
    assert (file.models["up"].accuracy["number"].right, file.made) == (3, "2026-11-29")
    assert "3 calls failed" in rendered(file, marks)


def test_two_models_are_compared_question_by_question() -> None:
    rights = {"strong": (True, True, True, False), "weak": (True, False, False, False)}
    marks = [
        Marked(model, "number", right=right, question=place)
        for model, answers in rights.items()
        for place, right in enumerate(answers)
    ]

    models = calibration(marks, "").models

    assert models["strong"].accuracy["number"].ahead["weak"] > 0.7
    assert models["weak"].accuracy["number"].ahead["strong"] < 0.3


def test_however_many_questions_tell_two_apart_neither_is_beyond_doubt() -> None:
    marks = [
        Marked(model, "number", right=model == "strong", question=place)
        for model in ("strong", "weak")
        for place in range(2000)
    ]

    models = calibration(marks, "").models

    assert models["weak"].accuracy["number"].ahead["strong"] == 0.0001
    assert models["strong"].accuracy["number"].ahead["weak"] == 0.9999


async def test_marks_tell_which_question_they_are_of() -> None:
    async def ask(model: str, question: Question) -> tuple[Request, Reply]:
        return Request(model, (said("user", "What is 6 * 7?"),)), replied(question.reference)

    marks = await marked(ask, ["a", "b"], [SUM, Question(SUM.messages, "41")], width=1)

    assert sorted((one.model, one.question) for one in marks) == [
        *(("a", 0), ("a", 1)),
        *(("b", 0), ("b", 1)),
    ]


def test_sureness_is_kept_as_quantiles_once_it_tells_something() -> None:
    marks = [Marked("m", "number", right=True, sureness=place / 20) for place in range(21)]

    sure = calibration(marks, "").models["m"].sureness

    assert sure == pytest.approx([place / 20 for place in range(21)])
    assert calibration(marks[:4], "").models["m"].sureness == ()


def test_a_judge_is_measured_by_the_answers_that_it_scored() -> None:
    told = [Marked("m", "number", right=True, score=0.9)] * 8
    told += [Marked("m", "number", right=False, score=0.3)] * 8
    told += [Marked("m", "letter", right=True), Marked("m", "", right=None, score=0.1)]

    file = calibration(told, "", "strict")

    assert list(file.judges["strict"]) == ["number"]
    judged = file.judges["strict"]["number"]
    assert (judged.of, judged.scores) == (16, (0.3, 0.9))
    assert judged.chances == pytest.approx((5 / 18, 13 / 18))
    assert "strict on number: of 16 answers" in rendered(file, told)


def test_the_command_measures_a_judge_too(tmp_path: Path) -> None:
    questions, output = tmp_path / "q.jsonl", tmp_path / "calibration.json"
    lines = [{"prompt": f"What is {n} + 15?", "reference": n + 15} for n in range(10, 18)]
    questions.write_bytes(b"\n".join(map(orjson.dumps, lines)))
    models = ["--models", "sim-small", "--judge", "sim-large"]

    result = CliRunner().invoke(main, ["calibrate", str(questions), *models, "-o", str(output)])

    assert result.exit_code == 0
    assert measured(output).odds("sim-large", "number", 1.0) == 1.0


def test_the_command_writes_what_the_configuration_reads(tmp_path: Path) -> None:
    questions, output = tmp_path / "q.jsonl", tmp_path / "calibration.json"
    lines = [{"prompt": f"What is {n} + 15?", "reference": n + 15} for n in range(10, 22)]
    questions.write_bytes(b"\n".join(map(orjson.dumps, lines)))
    arguments = [str(questions), "--models", "sim-small, sim-large", "-o", str(output)]

    result = CliRunner().invoke(main, ["calibrate", *arguments])

    assert result.exit_code == 0
    known = measured(output)
    assert 0 < (known.accuracy("sim-large", "number") or 0) <= 1
    assert known.rank("sim-small", 0.0) == 0.0
    config = tmp_path / "lockgate.yaml"
    config.write_text(
        "providers: {sim: {dialect: openai_chat, simulated: {}}}\n"
        "models: [{name: sim-large, provider: sim}]\n"
        "reliability: {calibration: calibration.json}\n"
    )
    result = CliRunner().invoke(main, ["check", str(config)])
    assert "it has 'sim-small', and there is no such model" in result.output
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("questions", "models", "said_so"),
    [("{}", "sim-small", "q.jsonl: line 1"), ('{"prompt": "x", "reference": "y"}', "none", "none")],
)
def test_what_cannot_be_asked_is_said_and_nothing_is_written(
    tmp_path: Path, questions: str, models: str, said_so: str
) -> None:
    file, output = tmp_path / "q.jsonl", tmp_path / "calibration.json"
    file.write_text(questions)
    arguments = ["calibrate", str(file), "--models", models, "-o", str(output)]

    result = CliRunner().invoke(main, arguments)

    assert result.exit_code == 2
    assert said_so in result.output
    assert not output.exists()


@pytest.mark.parametrize("output", ["none/calibration.json", "folder", "file/calibration.json"])
def test_where_nothing_can_be_written_nothing_is_even_read(tmp_path: Path, output: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    arguments = ["calibrate", str(tmp_path / "no questions"), "--models", "sim-small"]

    result = CliRunner().invoke(main, [*arguments, "-o", str(tmp_path / output)])

    assert result.exit_code == 2
    assert f"{output} cannot be written" in result.output
    assert "no questions" not in result.output


def test_a_calibration_that_cannot_be_read_stops_the_start(tmp_path: Path) -> None:
    config = tmp_path / "lockgate.yaml"
    config.write_text(
        "providers: {sim: {dialect: openai_chat, simulated: {}}}\n"
        "models: [{name: m, provider: sim}]\n"
        "reliability: {calibration: none.json}\n"
    )

    result = CliRunner().invoke(main, ["check", str(config)])

    assert result.exit_code == 2
    assert "reliability.calibration: " in result.output
    assert str(tmp_path / "none.json") in result.output
