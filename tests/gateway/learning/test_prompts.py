from __future__ import annotations

from pathlib import Path

import pytest

from gateway.learning.prompts import UnusablePrompts, Written, read_prompts
from tests.gateway.learning.scene import observation


def test_a_prompt_is_a_text_or_a_conversation_and_may_have_a_reference() -> None:
    first, second = read_prompts(
        '{"prompt": "6 * 7?", "reference": 42, "id": "a", "more": 1}\n\n'
        '{"messages": [{"role": "user", "content": "hi"}], "category": "talk"}'
    )

    assert first.messages == [{"role": "user", "content": "6 * 7?"}]
    assert (first.reference, first.category) == ("42", "")
    assert first.name.startswith("a-")
    assert (second.reference, second.category) == (None, "talk")


def test_the_same_prompt_is_there_once_and_has_the_same_name_in_another_file() -> None:
    (only,) = read_prompts('{"prompt": "x"}\n{"prompt": "x"}')

    assert read_prompts('{"prompt": "y"}\n{"prompt": "x"}')[1].name == only.name


def test_a_prompt_that_was_changed_is_another() -> None:
    lines = ['{"id": 1, "prompt": "x"}', '{"id": 1, "prompt": "x", "reference": 1}']

    assert len(read_prompts("\n".join(lines))) == 2


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "there is no prompt"),
        ('{"prompt": "x"}\n{"reference": 1}', "line 2: Value error, give either prompt"),
        ('{"prompt": "x", "messages": [{}]}', "either prompt or messages"),
        ("no json", "line 1: "),
    ],
)
def test_a_line_that_is_no_prompt_is_told(text: str, fault: str) -> None:
    with pytest.raises(UnusablePrompts, match=fault):
        read_prompts(text)


def test_what_is_written_is_known_the_next_time(tmp_path: Path) -> None:
    file = tmp_path / "o.jsonl"
    Written(file).add([observation(), observation("best_of_n/3")])
    again = Written(file)
    again.add([observation().model_copy(update={"request_id": "r2"})])

    assert again.done == {"r1"}
    assert Written(file).done == {"r1", "r2"}
    assert [row.arm for row in again.rows()] == ["none", "best_of_n/3", "none"]


def test_a_line_that_was_cut_off_is_cut_away(tmp_path: Path) -> None:
    file = tmp_path / "o.jsonl"
    Written(file).add([observation()])
    whole = file.read_bytes()
    file.write_bytes(whole + whole[:50])

    assert Written(file).done == {"r1"}
    assert file.read_bytes() == whole


def test_another_file_is_not_written_over(tmp_path: Path) -> None:
    file = tmp_path / "o.jsonl"
    file.write_text('{"prompt": "x"}\n')

    with pytest.raises(UnusablePrompts, match="line 1"):
        Written(file)
    assert file.read_text() == '{"prompt": "x"}\n'
    assert list(Written(tmp_path / "none.jsonl").rows()) == []
