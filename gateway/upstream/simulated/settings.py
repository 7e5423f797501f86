"""What is simulated: models, how often they err, how fast they are, what they cost and may."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType
from typing import Final, Literal

from pricing.price import Price, per_million

Vendor = Literal["openai", "azure", "groq", "anthropic"]
"""Whose rate-limit headers are spoken."""

FINGERPRINT: Final = "lockgate-simulation"
"""Stands in ``system_fingerprint`` of every answer and chunk."""

ABOUT: Final = """\
The models `sim-small` and `sim-large` are a simulation. No language model runs and nothing leaves
the process: a small solver works out the right answer to arithmetic, multiple-choice and short
factual questions, or writes a small well-known function, and seeded noise then makes it wrong as
often as the model's stated error rate says. Everything else gets a stock answer that says it is
simulated. `sim-embed` makes embeddings: texts that share words are near each other. The simulation
shows how the gateway and its techniques behave when a model errs; it says nothing about any real
model. Each of its answers carries `"system_fingerprint": "lockgate-simulation"`.
"""
"""What the README says of it."""


@dataclass(frozen=True, slots=True)
class SimulatedModel:
    """One simulated model.

    Attributes:
        error_rate: Share of answers that are wrong, 0 to 1, over many questions. One question may
            be harder than another: its own rate is ``error_rate`` times a factor between 0.4 and
            1.6 that depends on the question alone and is 1 on average. Draws on one question err
            independently of each other, and wrong answers differ, so that voting helps.
        judge_error_rate: Share of verdicts about an answer that are wrong, 0 to 1.
        tokens_per_second: Speed of the output, when delays are on.
        first_token_s: Seconds until the first token, when delays are on.
        price: What its tokens cost.
    """

    error_rate: float
    judge_error_rate: float
    price: Price
    tokens_per_second: float = 80.0
    first_token_s: float = 0.3


def _price(input_rate: str, output_rate: str) -> Price:
    return per_million({"input": Decimal(input_rate), "output": Decimal(output_rate)})


MODELS: Final[Mapping[str, SimulatedModel]] = MappingProxyType(
    {
        "sim-small": SimulatedModel(
            error_rate=0.35,
            judge_error_rate=0.25,
            price=_price("0.10", "0.40"),
            tokens_per_second=150.0,
            first_token_s=0.2,
        ),
        "sim-large": SimulatedModel(
            error_rate=0.12,
            judge_error_rate=0.10,
            price=_price("1.00", "4.00"),
            tokens_per_second=60.0,
            first_token_s=0.5,
        ),
    }
)

EMBEDDERS: Final[Mapping[str, int]] = MappingProxyType({"sim-embed": 256})
"""Models that make embeddings, and how many numbers each has."""
EMBEDDER_PRICE: Final = _price("0.02", "0")
"""What each of them costs."""


@dataclass(frozen=True, slots=True)
class Simulation:
    """A simulated account.

    Attributes:
        seed: All randomness derives from it.
        models: The models by name.
        vendor: Whose rate-limit headers are sent.
        rpm: Requests a minute, None for no limit. The bucket starts full and fills continuously.
        tpm: Tokens a minute, of prompts and answers together, None for no limit.
        speed: How many times faster than the models' stated speed answers come, 0 for at once.
        fail_every: Every so many calls one fails with status 500, None for never.
    """

    seed: int = 0
    models: Mapping[str, SimulatedModel] = field(default_factory=lambda: MODELS)
    vendor: Vendor = "openai"
    rpm: int | None = None
    tpm: int | None = None
    speed: float = 0.0
    fail_every: int | None = None
