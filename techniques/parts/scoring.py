"""How good an answer is, where something is known of the right one: what counts, and how much.

For evaluation only. How a part is found is for ``matching``, ``code_scoring`` and ``judge``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from pricing.record import record
from techniques.core.json import Json
from techniques.parts.matching import MatchMode

ScoreMode: TypeAlias = MatchMode | Literal["code", "code_complexity"]
Strategy: TypeAlias = Literal["blended", "exact", "judge"]

_EXACT_SHARE: Final = 0.6
MODES: Final[tuple[ScoreMode, ...]] = (
    *("exact_letter", "numeric", "yes_no", "relaxed", "exact_match"),
    *("code", "code_complexity"),
)


@record(frozen=True, slots=True)
class Scoring:
    """What counts: an exact comparison by ``mode``, None where there is nothing to compare with.

    ``strategy`` says whether a judge's score counts beside it, not at all, or alone.
    """

    mode: ScoreMode | None
    strategy: Strategy = "blended"

    @property
    def compares(self) -> bool:
        """Whether an exact comparison is needed."""
        return self.mode is not None and self.strategy != "judge"

    @property
    def judges(self) -> bool:
        """Whether a judge's score is needed."""
        return not self.compares or self.strategy == "blended"

    def total(self, exact: float | None, judged: float | None) -> float | None:
        """Return the score, 0 to 1, of an *exact* comparison and a *judged* score.

        None if a part that is needed is missing. With both needed, a wrong answer never gets more
        than 0.4, and a right one 0.85 only if the judge gives it 0.625 or more.
        """
        if (self.compares and exact is None) or (self.judges and judged is None):
            return None
        if not self.compares:
            return judged
        if not self.judges:
            return exact
        return _EXACT_SHARE * (exact or 0) + (1 - _EXACT_SHARE) * (judged or 0)


def scoring_of(metadata: Mapping[str, Json], *, strategy: Strategy = "blended") -> Scoring:
    """Return how to score an answer to a question with *metadata*.

    Its ``score_mode`` says so, or its ``source``, the name of a known set of questions.

    Raises:
        ValueError: There is no such mode.
    """
    stated = metadata.get("score_mode")
    if stated is None:
        return Scoring(_mode_of_source(metadata.get("source")), strategy)
    for mode in MODES:
        if mode == stated:
            return Scoring(mode, strategy)
    raise ValueError(f"There is no score mode {stated!r}; there are: {', '.join(MODES)}.")


def _mode_of_source(source: Json) -> ScoreMode | None:
    """Return the mode for a set's name, which may be part of a path such as ``openai/gsm8k``."""
    parts = re.split(r"[/:]", source.lower()) if isinstance(source, str) else []
    names = (part.strip().replace("-", "_").replace(" ", "_") for part in parts)
    return next((_SOURCES[name] for name in names if name in _SOURCES), None)


_SOURCES: Final[Mapping[str, ScoreMode]] = {
    **dict.fromkeys(
        (
            *("mmlu", "mmlu_pro", "arc", "arc_easy", "arc_challenge", "hellaswag", "winogrande"),
            *("openbookqa", "commonsenseqa", "truthfulqa_mc"),
        ),
        "exact_letter",
    ),
    **dict.fromkeys(("gsm8k", "math", "mathqa", "asdiv", "svamp"), "numeric"),
    "boolq": "yes_no",
    "chartqa": "relaxed",
    **dict.fromkeys(("humaneval", "mbpp"), "code"),
}
