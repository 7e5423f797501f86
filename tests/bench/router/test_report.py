from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench.router.__main__ import main
from bench.router.measuring import Terms, measured
from bench.router.report import STRONG, Bar, bars, bars_table, failures, table
from bench.router.rivals import RIVALS
from tests.bench.router.scene import kept, towns
from tests.bench.router.test_sets import asked

TERMS = Terms(drawings=50)


def test_a_bar_that_is_met_and_one_that_is_not_look_different() -> None:
    text = bars_table(
        [
            Bar("a", "1", "≥ 0", met=True),
            Bar("b", "-1", "≥ 0", met=False),
            Bar("c", "-1", "≥ 0", met=False, near=True),
        ]
    )
    verdicts = [line.rsplit("|", 2)[1].strip() for line in text.splitlines()[2:]]
    assert verdicts == ["met", "**not met**", "not met, within the noise"]


def test_the_bars_stand_on_what_was_measured() -> None:
    done = {
        "gsm8k": measured(towns(100), TERMS, RIVALS),
        f"gsm8k{STRONG}": measured(towns(100), TERMS, {"semknn": RIVALS["semknn"]}),
    }
    apgr = next(bar for bar in bars(done) if "APGR of semknn" in bar.name)
    assert apgr.met
    assert any("strongest asked for, lambda 0" in bar.name for bar in bars(done))
    assert not any(bar.name.startswith("mmlu") for bar in bars(done))


def test_what_does_better_although_it_is_simpler_is_told() -> None:
    rivals = {"semknn": RIVALS["random"], "length only": RIVALS["oracle"]}
    done = {"gsm8k": measured(towns(100), TERMS, rivals)}
    text = failures(done, bars(done))
    assert "gsm8k: semknn is behind length only by -" in text
    assert "which may be chance" not in text
    assert "APGR of semknn" in text


def test_a_table_has_a_row_for_each_rival() -> None:
    text = table("towns", measured(towns(60), TERMS, RIVALS))
    assert all(f"| {name} |" in text for name in RIVALS)
    assert "nan" not in text


def test_many_models_are_told_of_by_cost() -> None:
    models = ("gpt-4o-2024-08-06-FC", "a", "b")
    done = {"bfcl": measured(towns(60, models), TERMS, RIVALS)}
    assert "right for $" in table("bfcl", done["bfcl"])
    assert next(bar.name for bar in bars(done)).startswith("bfcl: share right")


def test_without_the_data_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(tmp_path / "none")]) == 1
    assert "--data names" in capsys.readouterr().err
    assert main(["--data", str(tmp_path), "--set", "gsm8k"]) == 1
    assert "routellm_gsm8k" in capsys.readouterr().err


def test_a_whole_run_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dice = np.random.default_rng(0)
    rows = [
        asked(str(at), weak=bool(dice.random() < 0.5), strong=bool(dice.random() < 0.8))
        for at in range(40)
    ]
    kept(tmp_path / "routellm_gsm8k.jsonl.gz", *rows)
    words = [
        "--set",
        "gsm8k",
        "--repeats",
        "1",
        "--drawings",
        "1",
        "--limit",
        "20",
        "--encoder",
        "static",
    ]
    assert main(["--data", str(tmp_path), *words]) == 0
    text = capsys.readouterr().out
    assert text.startswith("A run of ")
    assert "### What fell short" in text
    assert "20 prompts" in text
