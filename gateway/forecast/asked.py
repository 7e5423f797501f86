"""What is asked of a forecast, checked before anything is looked at."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Annotated, Any, Final, Literal

import orjson
from pydantic import ConfigDict, Field, ValidationError

from gateway.admission.legacy.decision import Regime
from gateway.admission.need.traits import Traits
from gateway.admission.need.weight import Weight, weigh, weigh_body
from gateway.policy.asked import fault_of
from router_service.groundwork.section import Section
from techniques.core.errors import RequestRejected
from techniques.core.json import Json, JsonObject

MOST_STEPS: Final = 500
_DAY_MS: Final = 86_400_000
_TURNS: Final = frozenset({"user", "tool", "function"})

Tokens = Annotated[int, Field(ge=1, le=10_000_000)]
Seconds = Annotated[float, Field(ge=0, le=10_000_000)]


class Strict(Section):
    """A number is no text here, and a text no number."""

    model_config = ConfigDict(strict=True)


class WindowAsked(Strict):
    """A window of tokens that is told instead of the account's own; for ``point`` only."""

    remaining: float = Field(ge=0, le=10**12)
    limit: float | None = Field(None, gt=0, le=10**12)
    reset_s: Seconds | None = None
    regime: Regime | None = None


class ForecastAsked(Strict):
    """The run that is asked about.

    Attributes:
        steps: How many requests each agent makes, one after the other.
        messages: The conversation as it is now; the first step sends it.
        tokens_per_step: The tokens of the first step, where there are no messages.
        growth_per_step: By how many tokens the context grows besides the answers; None: as by the
            turns in ``messages``.
        grows: Whether the context grows at all.
        concurrency: How many agents do the same at the same time.
        run: The run or session by whose requests the forecast is judged when it has ended.
        seed: Of the dice; None: the question itself.
    """

    model: str = Field(min_length=1, max_length=256)
    technique: str | None = Field(None, min_length=1, max_length=64)
    params: dict[str, Any] | None = None
    steps: int = Field(1, ge=1, le=MOST_STEPS)
    messages: list[dict[str, Any]] | None = Field(None, min_length=1)
    tools: list[dict[str, Any]] | None = None
    max_tokens: Tokens | None = None
    tokens_per_step: Tokens | None = None
    growth_per_step: int | None = Field(None, ge=0, le=1_000_000)
    grows: bool = True
    concurrency: int = Field(1, ge=1, le=32)
    deadline_ms: int | None = Field(None, ge=1, le=30 * _DAY_MS)
    stream: bool = False
    method: Literal["monte_carlo", "point"] = "monte_carlo"
    run: str | None = Field(None, min_length=1, max_length=256)
    seed: int | None = Field(None, ge=0, le=2**63)
    window: WindowAsked | None = None
    wait_threshold_s: Seconds = 15.0
    price_per_1k: float | None = Field(None, ge=0, le=10**6)
    seconds_per_step: Seconds | None = None

    @property
    def dice(self) -> int:
        """The seed: the same for the same question, whatever its deadline is."""
        if self.seed is not None:
            return self.seed
        asked = orjson.dumps(
            self.model_dump(exclude={"run", "deadline_ms"}), option=orjson.OPT_SORT_KEYS
        )
        return int.from_bytes(hashlib.sha256(asked).digest()[:8], "big")

    @cached_property
    def weight(self) -> Weight | None:
        """How much text the messages carry, and how many images and sounds."""
        if self.messages is None:
            return None
        body: JsonObject = {"model": self.model, "messages": self.messages}
        if self.tools:
            body["tools"] = self.tools
        return weigh_body(body, len(orjson.dumps(body)))

    def traits(self, size: int, *, framed: bool) -> Traits:
        """Return the traits of the first step, of *size* bytes where there are no messages."""
        weight = self.weight or Weight(size)
        return Traits(
            tools=bool(self.tools),
            max_tokens=self.max_tokens,
            text_bytes=weight.text,
            images=weight.images,
            sounds=weight.sounds,
            framed=framed,
        )

    def growth(self, ratio: float) -> int:
        """Return by how many tokens the context grows at each step, besides the answer."""
        if self.growth_per_step is not None or self.messages is None:
            return self.growth_per_step or 0
        turns = [weigh(turn).text for turn in self.messages if turn.get("role") in _TURNS]
        return round(ratio * sum(turns) / len(turns)) if turns else 0


_POINT_ONLY: Final = ("window", "wait_threshold_s", "price_per_1k", "seconds_per_step")


def read(body: JsonObject, run: str | None = None) -> ForecastAsked:
    """Return what *body* asks for; *run* is that of its header.

    Raises:
        RequestRejected: A field is wrong, unknown or missing.
    """
    try:
        asked = ForecastAsked.model_validate({"run": run, **body} if run else body)
    except ValidationError as error:
        fault = fault_of(error)
        raise _rejected(str(fault), fault.param or None) from None
    if asked.messages is None and asked.tokens_per_step is None:
        raise _rejected(
            "tokens_per_step: is missing; say it, or messages, that the first step's tokens are "
            "known.",
            "tokens_per_step",
        )
    if asked.method != "point":
        for name in _POINT_ONLY:
            if name in asked.model_fields_set:
                raise _rejected(f'{name}: is for {{"method": "point"}} only', name)
    return asked


def _rejected(message: str, param: Json) -> RequestRejected:
    return RequestRejected(message, code="invalid_value", param=param)
