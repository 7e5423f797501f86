"""Reads files of recorded answers, a JSON object a line, and marks the answers."""

from __future__ import annotations

import ast
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from bench.quality.recorded import Sample, canonical


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """Return the objects in *path*, which may be packed with gzip."""
    raw = path.read_bytes()
    text = gzip.decompress(raw) if path.suffix == ".gz" else raw
    return map(orjson.loads, text.splitlines())


def sampled(answer: object, golds: frozenset[str]) -> Sample:
    """Return *answer* as a sample, right if it is one of *golds*."""
    said = canonical(answer)
    return Sample(said, said in golds)


def golds_of(gold: object) -> frozenset[str]:
    """Return the right answers of *gold*: one, or those that an object of marks has 1 for."""
    if isinstance(gold, str) and gold.startswith("{"):
        gold = ast.literal_eval(gold)
    right = [key for key, mark in gold.items() if mark == 1] if isinstance(gold, dict) else [gold]
    return frozenset(said for one in right if (said := canonical(one)) is not None)
