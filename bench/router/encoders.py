"""The encoders beside each other: how long a text takes, and what the router makes of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

import numpy as np

from bench.router.measuring import Terms, interval, is_pair, measured, vectors_of
from bench.router.report import ASKED_TOOL, TOOL_COST
from bench.router.rivals import RIVALS, Task
from bench.router.sets import SETS, RoutedSet
from router_service.embedding.encoders import encoder_of
from router_service.embedding.remembering import Remembering
from router_service.embedding.settings import EmbeddingSettings

_LOCAL: Final[tuple[Literal["mixed", "static", "hashed"], ...]] = ("mixed", "static", "hashed")
_PROMPTS: Final = 1000
_REPEATS: Final = 1
_SENTENCE: Final = "The quick brown fox jumps over the lazy dog near the old river bank. "
_WORDS: Final = (8, 30, 120, 1000)
_TIMES: Final = 30


def table(data: Path, model: str, folder: Path | None) -> str:
    """Return a table of the encoders that can be had; fastembed's only with a *folder*."""
    kinds = [EmbeddingSettings(kind=kind) for kind in _LOCAL]
    if folder is not None:
        kinds.append(EmbeddingSettings(kind="fastembed", model=model, folder=folder))
    sets = {name: _few(load(data)) for name, load in SETS.items()}
    rows = [_row(settings, sets) for settings in kinds]
    times = " | ".join(f"{words:,} words" for words in _WORDS)
    head = f"| encoder | ms: {times} | {' | '.join(sets)} |"
    return "\n".join((head, f"|{'---|' * (1 + len(_WORDS) + len(sets))}", *rows))


def _few(routed: RoutedSet) -> RoutedSet:
    if len(routed) <= _PROMPTS:
        return routed
    return routed.part(np.arange(_PROMPTS) * len(routed) // _PROMPTS)


def _row(settings: EmbeddingSettings, sets: Mapping[str, RoutedSet]) -> str:
    encoder = encoder_of(settings)
    times = " | ".join(f"{_took(encoder, words):.2f}" for words in _WORDS)
    found = " | ".join(_quality(encoder, routed) for routed in sets.values())
    return f"| {encoder.name} | {times} | {found} |"


def _took(encoder: Remembering, words: int) -> float:
    """Return the median of how many milliseconds a text of so many *words* takes."""
    many = (_SENTENCE * (words // 14 + 1)).split()[:words]
    texts = [" ".join((str(number), *many)) for number in range(_TIMES + 1)]

    async def each() -> list[float]:
        took = []
        for text in texts:
            begun = time.perf_counter()
            await encoder.encode(text)
            took.append(time.perf_counter() - begun)
        return took[1:]

    return 1000 * float(np.median(asyncio.run(each())))


def _quality(encoder: Remembering, routed: RoutedSet) -> str:
    pair = is_pair(routed)
    plain = 0 if pair else routed.models.index(ASKED_TOOL)
    task = Task(routed, vectors_of(routed, encoder), plain)
    found = measured(task, Terms(repeats=_REPEATS), {"semknn": RIVALS["semknn"]})
    if not pair:
        return f"{found.curve('semknn').quality_at(TOOL_COST):.3f}"
    apgr = interval(found.recovered("semknn").apgr)
    return f"{apgr.value:.3f} ± {(apgr.high - apgr.low) / 4:.3f}"
