from __future__ import annotations

import gzip
import struct
from pathlib import Path

import orjson

from bench.quality.sources import gpt35_cot, limited, tools
from tests.bench.quality.test_npz import array, packed

MODELS = (
    "gemini-1.5-flash-preview-0514",
    "gpt-4o-mini-2024-07-18-FC",
    "gpt-4o-2024-08-06-FC",
)


def kept(path: Path, *rows: object) -> None:
    path.write_bytes(gzip.compress(b"\n".join(map(orjson.dumps, rows))))


def test_a_date_is_read_out_of_a_sentence(tmp_path: Path) -> None:
    said = ["06/19/2019", "Today is 6/18/2019, so tomorrow is 6/19/2019.", "June 19", None]
    row = {
        "run": "date_cot1_t=0.8",
        "model": "gpt-3.5-turbo",
        "i": 1,
        "question": "When?",
        "gold": "06/19/2019",
        "answers": [*said, *["06/18/2019"] * 16],
    }
    kept(tmp_path / "mot_cascade_answers.jsonl.gz", row)

    (question,) = gpt35_cot(tmp_path).questions

    answers = [one.answer for one in question.samples["gpt-3.5-turbo"]]
    assert answers[:4] == ["06/19/2019", "06/19/2019", "june 19", None]
    assert question.samples["gpt-3.5-turbo"][1].right


def test_the_same_words_with_other_functions_are_another_question(tmp_path: Path) -> None:
    rows = [{"j": j, "id": f"q{j}", "question": "How far is it?"} for j in (0, 1)]
    kept(tmp_path / "bfcl_20240811_prompts.jsonl.gz", *rows)
    head = "{{'descr': '{}', 'fortran_order': False, 'shape': {}}}"
    whole = array(head.format("<i4", (3, 2)), struct.pack("<6i", *range(1, 7)))
    names = array(
        head.format("<U40", "(3,)"), "".join(m.ljust(40, "\0") for m in MODELS).encode("utf-32-le")
    )
    packed(
        tmp_path,
        models=names,
        correct=array(head.format("|u1", (3, 2)), bytes([1, 0, 1, 1, 0, 1])),
        output_tokens=whole,
        input_tokens=whole,
        latency_s=array(head.format("<f4", (3, 2)), struct.pack("<6f", *range(6))),
    ).rename(tmp_path / "bfcl_20240811.npz")

    questions = limited(tools(tmp_path).questions, None)

    assert [one.id for one in questions] == ["q0", "q1"]
    assert [one.samples["gpt-4o"][0].right for one in questions] == [False, True]
