from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench.router.sets import TOOLS, arena, bfcl, gsm8k, mmlu, mmlu_unlabelled
from tests.bench.router.scene import kept


def asked(name: str, *, weak: bool, strong: bool, leaked: bool = False) -> dict[str, object]:
    return {
        "id": name,
        "domain": "law",
        "prompt": f"Question {name}?\nA. yes\nB. no\nAnswer:",
        "weak_ok": weak,
        "strong_ok": strong,
        "contaminated": leaked,
    }


def test_what_a_model_was_trained_on_is_left_out(tmp_path: Path) -> None:
    kept(
        tmp_path / "routellm_mmlu.jsonl.gz",
        asked("a", weak=False, strong=True),
        asked("b", weak=True, strong=True, leaked=True),
    )
    routed = mmlu(tmp_path)
    assert routed.quality.tolist() == [[0.0, 1.0]]
    assert [prompt.features.label for prompt in routed.prompts] == ["law"]
    assert mmlu_unlabelled(tmp_path).prompts[0].features.label == ""
    assert routed.cost[0, 1] > 10 * routed.cost[0, 0] > 0


def test_written_answers_are_paid_for(tmp_path: Path) -> None:
    row = asked("a", weak=True, strong=True) | {"weak_response": "x", "strong_response": "y" * 4000}
    kept(tmp_path / "routellm_gsm8k.jsonl.gz", row)
    assert gsm8k(tmp_path).cost[0, 1] == pytest.approx(1000 * 30 / 1000 + 0.1, abs=0.1)


def test_tool_calls_are_found_by_their_columns(tmp_path: Path) -> None:
    names = ["other", *reversed(list(TOOLS))]
    right = np.zeros((len(names), 3), np.uint8)
    right[names.index("gpt-4o-2024-08-06-FC")] = [1, 0, 1]
    read = np.full((len(names), 3), 1000, np.int32)
    read[:, 2] = -1
    np.savez(
        tmp_path / "bfcl_20240811.npz",
        models=np.array(names),
        correct=right,
        input_tokens=read,
        output_tokens=np.zeros_like(read),
    )
    tool = {"name": "area", "description": "An area.", "parameters": {"type": "object"}}
    kept(
        tmp_path / "bfcl_20240811_prompts.jsonl.gz",
        {"j": 2, "id": "b", "question": "Second?", "function": [tool, tool]},
        {"j": 0, "id": "a", "question": "First?", "function": tool},
    )
    routed = bfcl(tmp_path)
    assert routed.models == tuple(TOOLS)
    assert [prompt.text for prompt in routed.prompts] == ["First?", "Second?"]
    assert routed.quality[:, 0].tolist() == [1.0, 1.0]
    assert {prompt.features.kind for prompt in routed.prompts} == {"tool"}
    assert routed.cost[:, 0].tolist() == [2.5, 2.5]  # the count that is missing is the others' mean


def test_the_weaker_of_two_comes_first_and_both_must_have_answered(tmp_path: Path) -> None:
    def row(name: str, model: str, score: float) -> dict[str, object]:
        return {"id": name, "model": model, "question": "Why?", "score": score, "cost": 0.002}

    kept(
        tmp_path / "routerarena_2models.jsonl.gz",
        row("a", "better", 1.0),
        row("a", "worse", 0.0),
        row("b", "better", 1.0),
    )
    routed = arena(tmp_path)
    assert routed.models == ("worse", "better")
    assert routed.quality.tolist() == [[0.0, 1.0]]
    assert routed.cost.tolist() == [[2.0, 2.0]]


def test_a_part_keeps_what_belongs_together(tmp_path: Path) -> None:
    rows = [asked(name, weak=name == "b", strong=True) for name in "abc"]
    kept(tmp_path / "routellm_mmlu.jsonl.gz", *rows)
    part = mmlu(tmp_path).part([1])
    assert len(part) == 1
    assert "Question b" in part.prompts[0].text
    assert part.quality.tolist() == [[1.0, 1.0]]
