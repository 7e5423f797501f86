from __future__ import annotations

from pathlib import Path

import pytest

from router_service.evaluation.records import (
    AnswerRow,
    ConfigRow,
    GradeRow,
    InUse,
    PromptRow,
    RecordFile,
    RescoreRow,
    Row,
    SwapRow,
)

PLACE = {"config_hash": "c", "prompt_hash": "p", "repeat": 0}
ANSWER = AnswerRow(**PLACE, config="a", prompt="q1", text="4\u2028", latency_ms=12.5)
ROWS: list[Row] = [
    ConfigRow(name="a", config_hash="c", stated={"model": "m"}),
    PromptRow(id="q1", prompt_hash="p", sent={"messages": []}),
    ANSWER,
    GradeRow(**PLACE, grader_hash="g", quality=1.0),
    RescoreRow(**PLACE, grader_hash="g", judged=0.5),
    SwapRow(
        grader_hash="g",
        prompt_hash="p",
        first="c",
        second="d",
        repeat=0,
        as_given="first",
        swapped=None,
    ),
]


def _written(path: Path, rows: list[Row]) -> RecordFile:
    file = RecordFile(path)
    for row in rows:
        file.add(row)
    file.close()
    return file


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    wrote = _written(path, ROWS).records
    again = RecordFile(path)
    assert again.records == wrote
    assert len(again.records.answers) == len(again.records.swaps) == 1
    again.close()


def test_wherever_a_line_was_cut_off_all_before_it_is_there(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    _written(path, ROWS)
    whole = path.read_bytes()
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        file = RecordFile(path)
        file.add(ANSWER)
        file.close()
        lines = whole[:cut].split(b"\n")[:-1]
        assert path.read_bytes().split(b"\n")[:-2] == lines
        assert file.records.unreadable == 0
        assert file.records.answers[ANSWER.key] == ANSWER


def test_a_line_in_the_middle_that_is_none_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    _written(path, ROWS[:3])
    path.write_bytes(path.read_bytes() + b'{"kind": "other"}\ngarbage\xff\n')
    file = RecordFile(path)
    assert (file.records.unreadable, len(file.records.answers)) == (2, 1)
    file.close()


def test_a_long_torn_line_is_cut_too(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    _written(path, ROWS)
    whole = path.read_bytes()
    path.write_bytes(whole + b"x" * 3_000_000)
    file = RecordFile(path)
    file.close()
    assert path.read_bytes() == whole


def test_of_two_lines_about_the_same_the_later_holds(tmp_path: Path) -> None:
    later = ANSWER.model_copy(update={"text": "5"})
    file = _written(tmp_path / "r.jsonl", [ANSWER, later])
    assert list(file.records.answers.values()) == [later]


def test_two_evaluations_do_not_share_a_file(tmp_path: Path) -> None:
    first = RecordFile(tmp_path / "r.jsonl")
    with pytest.raises(InUse):
        RecordFile(tmp_path / "r.jsonl")
    first.close()
    RecordFile(tmp_path / "r.jsonl").close()


def test_an_answer_is_read_as_a_grader_does() -> None:
    call = {"id": "1", "name": "f", "arguments": "{}"}
    row = ANSWER.model_copy(update={"tool_calls": (call, {"odd": 1}), "refusal": "No."})
    reply = row.reply()
    assert (reply.text, reply.refusal) == ("4\u2028", "No.")
    assert [one.name for one in reply.tool_calls] == ["f"]
