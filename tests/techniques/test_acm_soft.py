from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from techniques import catalog
from techniques.catalog.acm import BINS, SHIFTS, ByConfidence, acm_soft
from techniques.core.capabilities import Capabilities
from techniques.core.registry import load
from techniques.core.request import Request
from tests.techniques.delegation import Shop, likely, over
from tests.techniques.scene import Measured, Played, Setting, asks, channels, play, scripted

CARDS = load(catalog)
NAMES = ("sure", "fair", "unsure", "lost")
OWN: list[dict[str, Any]] = [
    {"at_least": edge, "technique": name}
    for edge, name in zip((0.7, 0.5, 0.3, 0), NAMES, strict=True)
]
FACT = asks("Who wrote the Iliad?")
CODE = asks("Write a Python function `def add(a, b)` that adds two numbers.")


async def delegated(share: float, options: ByConfidence, request: Request = FACT) -> Played:
    """Play ``acm_soft`` where an answer ranks so among those of its model."""
    channel = scripted(likely("Homer did.", 0.9))
    setting = Setting(options, calibration=Measured(share))
    return await play(over(acm_soft, Shop().cards(*NAMES)), channels(channel), request, setting)


def bins(**more: Any) -> ByConfidence:
    return ByConfidence.model_validate({"bins": OWN, **more})


@pytest.mark.parametrize(
    ("share", "technique"),
    [
        (1, "sure"),
        (0.7, "sure"),
        (0.69, "fair"),
        (0.5, "fair"),
        (0.3, "unsure"),
        (0.29, "lost"),
        (0, "lost"),
    ],
)
async def test_the_less_sure_the_model_is_among_its_answers_the_more_is_done(
    share: float, technique: str
) -> None:
    assert (await delegated(share, bins())).text == technique


@pytest.mark.parametrize(
    ("share", "of_code", "of_facts"), [(0.72, "fair", "sure"), (0.34, "lost", "unsure")]
)
async def test_a_category_shifts_the_bins(share: float, of_code: str, of_facts: str) -> None:
    options = bins(category_shifts={"code": 0.05})

    assert (await delegated(share, options, CODE)).text == of_code
    assert (await delegated(share, options, FACT)).text == of_facts


def test_no_category_may_void_a_bin() -> None:
    with pytest.raises(ValidationError, match="the shift of code leaves no confidence"):
        ByConfidence.model_validate(
            {
                "bins": [{"at_least": 0.2, "technique": "fair"}, OWN[-1]],
                "category_shifts": {"code": -0.2},
            }
        )


def test_the_built_in_shifts_are_for_the_built_in_bins() -> None:
    assert ByConfidence().shifts() == SHIFTS
    assert bins().shifts() == {}


@pytest.mark.parametrize("able", [True, False])
async def test_without_probabilities_two_answers_are_compared_and_that_is_told(
    *, able: bool
) -> None:
    channel = scripted(lambda _request: "Homer")
    models = channels(channel, abilities=Capabilities(logprobs=able))
    played = await play(over(acm_soft, Shop().cards(*NAMES)), models, FACT, Setting(bins()))

    assert played.text == "sure"
    assert played.warnings == {"confidence_source_changed": "probabilities -> agreement"}


def test_every_technique_of_the_built_in_bins_is_there() -> None:
    assert {one.technique for one in BINS} - CARDS.keys() == set()
