"""Lets a model sort answers by what they conclude. It gives labels, never a text of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from techniques.core.request import Request
from techniques.parts.answers import last_ask
from techniques.parts.aside import Aside, Purpose
from techniques.parts.candidates import Candidate
from techniques.parts.markers import last_paragraph
from techniques.parts.structured import object_schema, read_object
from techniques.parts.transcript import answer_shown, shortened

_CONCLUSION: Final = 1600  # characters, about 400 tokens


def labels_request(aside: Aside, order: Sequence[Candidate]) -> Request:
    """Return the request that asks which of *order*, best in random order, conclude the same.

    Source: Chen et al. 2023, arXiv:2311.17311 (there the model picks; here it only sorts).
    """
    shown = [
        aside.fence.around(f"answer {place}", _conclusion(candidate))
        for place, candidate in enumerate(order, 1)
    ]
    question = aside.fence.around("question", shortened(last_ask(aside.asked), _CONCLUSION))
    return aside.request(_SORTING, _TASK.format(count=len(order)), question, *shown)


def read_labels(text: str, order: Sequence[Candidate]) -> dict[int, int] | None:
    """Return the label of each candidate's place, None unless there is a whole number for each."""
    labels = (read_object(text) or {}).get("labels")
    if not isinstance(labels, list) or len(labels) != len(order):
        return None
    if not all(type(label) is int for label in labels):
        return None
    return {candidate.place: label for candidate, label in zip(order, labels, strict=True)}


def _conclusion(candidate: Candidate) -> str:
    text = answer_shown(candidate.reply)
    end = last_paragraph(text)
    return end if len(end) > _CONCLUSION else text[-_CONCLUSION:]


_TASK: Final = """\
Below are a question and {count} answers to it, of which you see the ends. Sort the answers into \
groups by what they conclude: two answers share a group if and only if a reader would take away \
the same conclusion. Wording, length, order and style do not count. Answers that contradict each \
other never share a group.
Reply with a JSON object only: {{"labels": [...]}}, one whole number for each answer in the order \
shown, the same number for answers of one group."""

_SORTING: Final = Purpose(
    "voter",
    256,
    object_schema({"labels": {"type": "array", "items": {"type": "integer"}}}),
    looks=False,
)
