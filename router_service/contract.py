"""What crosses between the gateway and the router: values, and who gives and takes them.

No text of a prompt is among them. Qualities are 0 to 1; what is told in *points* is a hundred
times that. Costs are in plain calls: 1 is what the plain call of the same request is expected to
cost. ``lambda_`` is how many points the cost of one more plain call must buy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal, Protocol, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from techniques.core.json import Json

Match: TypeAlias = Literal["exact", "partial", "fallback", "default"]
"""How well what the router has learnt fits the models that are there now."""
Share = Annotated[float, Field(ge=0, le=1)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
LONGEST_VECTOR: Final = 4096


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Features(_Value):
    """What can be told of a request without its text.

    ``kind`` is that of the answer it asks for (``techniques.parts.answers``), ``label`` what the
    client itself says it is about. ``system`` is 64 bits, in hex, of the hash of its instructions,
    "" without any. ``content`` are the numbers of ``techniques.parts.features`` by name.
    """

    kind: str = "prose"
    category: str = "qa"
    category_confidence: Share = 0.0
    label: str = ""
    language: str = ""
    tools: bool = False
    json_schema: bool = False
    image: bool = False
    turns: int = Field(1, ge=0)
    tokens: int = Field(0, ge=0)
    system: str = ""
    content: Mapping[str, float] = {}


class Vector(_Value):
    """Where a prompt lies: of unit length, by the ``encoder`` of that name."""

    encoder: str
    values: tuple[Annotated[float, Field(allow_inf_nan=False)], ...] = Field(
        min_length=1, max_length=LONGEST_VECTOR
    )


class ModelSpec(_Value):
    """A model as far as it is like others: its family, size in billions, bits, and effort."""

    family: str = "unknown"
    params_b: Amount | None = None
    quantization: str = ""
    effort: str = ""


MOST_OFFERS: Final = 1_000
"""More would hold up all others who ask: each is looked at for some ten microseconds."""


class Offer(_Value):
    """An arm that may be chosen, by its name (``router_service.arms``).

    ``cost`` is what it is expected to cost before anything was learnt. ``masked`` is why it must
    not be chosen now, "" where it may be.
    """

    arm: str
    cost: Amount | None = None
    masked: str = ""


class RouteQuery(_Value):
    """What the router may look at. The first of ``offers`` is what happens without a router.

    ``vector`` is None where none could be had. ``pool`` are the models that answer, the one asked
    for first. ``explore`` False: only what is best now. ``plain_usd`` is what the plain call is
    expected to cost, None if that is not known.
    """

    model: str
    offers: tuple[Offer, ...] = Field(min_length=1, max_length=MOST_OFFERS)
    features: Features = Features()
    vector: Vector | None = None
    pool: tuple[ModelSpec, ...] = ()
    lambda_: Amount = Field(1.0, alias="lambda")
    strict: bool = False
    explore: bool = True
    plain_usd: Amount | None = None

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    def allows(self, arm: str) -> bool:
        """Return whether *arm* is on offer, and may be chosen."""
        return any(offer.arm == arm and not offer.masked for offer in self.offers)


class RouteDecision(_Value):
    """One of the arms that were on offer; ``why`` is for people, short, and names no client's word.

    ``propensity`` is how likely just this choice was. ``scores`` are points by arm, above those of
    the plain call, less what they cost. ``similarity`` is that of the nearest thing learnt.
    ``estimate`` is True where ``match`` is not exact. ``params`` are options of the technique that
    the arm is to be given.
    """

    arm: str
    why: str
    router: str = "fixed"
    params: Mapping[str, Json] = {}
    propensity: Share = 1.0
    explored: bool = False
    scores: Mapping[str, float] = {}
    confidence: Share | None = None
    match: Match = "default"
    similarity: float | None = None
    profile: str = ""
    estimate: bool = False
    masked: Mapping[str, str] = {}
    warnings: tuple[str, ...] = ()
    predicted_quality: float | None = None
    predicted_cost: float | None = None


class Observation(_Value):
    """What came of one arm for one request.

    ``quality`` is that of the answer and ``plain_quality`` that of the plain call of the same
    request by the same judge (the first candidate of a technique is one); None: not known (yet).
    ``source`` is who said so, ``reliability`` how far that is to be believed. ``counterfactual``:
    it was worked out of a full trace, and not carried out. ``caller`` is the name of the key.
    ``at`` is in seconds since 1970.
    """

    id: str
    request_id: str
    at: float
    model: str
    arm: str
    features: Features = Features()
    vector: Vector | None = None
    pool: tuple[ModelSpec, ...] = ()
    caller: str = ""
    params_hash: str = ""
    propensity: Annotated[float, Field(gt=0, le=1)] = 1.0
    explored: bool = False
    counterfactual: bool = False
    quality: Share | None = None
    plain_quality: Share | None = None
    source: str = ""
    reliability: Annotated[float, Field(ge=-1, le=1)] = 1.0
    repeats: int = Field(1, ge=1)
    spread: Amount | None = None
    cost_usd: Amount | None = None
    cost: Amount | None = None
    calls: int = Field(1, ge=0)
    latency_ms: Amount | None = None
    first_token_ms: Amount | None = None
    outcome: str = "success"


class Feedback(_Value):
    """What somebody says of the answer to ``request_id``: its quality, 0 to 1."""

    request_id: str
    quality: Share
    plain_quality: Share | None = None
    source: str = "feedback"
    reliability: Annotated[float, Field(ge=-1, le=1)] = 1.0


class NoExactProfile(Exception):
    """Nothing was learnt with just these models, and the query is strict about it."""

    def __init__(self, profile: str, have: Sequence[str], want: str) -> None:
        super().__init__(f"Nothing has been learnt of {profile} with the models {want}.")
        self.profile = profile
        self.have = tuple(have)
        self.want = want


class RouterGone(Exception):
    """The router did not answer in time, or not at all; the message says why, for a log."""


class Router(Protocol):
    """Anything that decides: in this process or far away."""

    async def route(self, query: RouteQuery) -> RouteDecision:
        """Decide from *query* alone.

        Raises:
            NoExactProfile: It is strict, and nothing was learnt of its models.
            RouterGone: Nobody decided.
        """
        ...


class Encoder(Protocol):
    """What says where a prompt lies."""

    @property
    def name(self) -> str:
        """What its vectors are told apart from others' by: its kind, model and size."""
        ...

    async def encode(self, text: str) -> Vector | None:
        """Return the vector of *text*, None if it has none; the event loop is not held up."""
        ...


class Observations(Protocol):
    """Where what was observed is kept."""

    async def observe(self, rows: Sequence[Observation]) -> None:
        """Keep *rows*; one whose id is known already takes its place."""
        ...

    async def feedback(self, said: Feedback) -> bool:
        """Write down what was *said*; False if nothing is known of its request."""
        ...

    async def forget(self, caller: str) -> int:
        """Delete what was observed of *caller* and return how many rows that were."""
        ...
