"""Options that several techniques have in common, with their ranges and what they mean."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, Field

from techniques.parts.guards import Strictness
from techniques.parts.syntax import is_python
from techniques.parts.weights import Rule, RuleName

MostSamples: TypeAlias = Annotated[int, Field(ge=2, le=16, description="Most draws, 2 to 16.")]
Temperature: TypeAlias = Annotated[
    float,
    Field(ge=0.3, le=1.2, description="Temperature of all draws but the first, 0.3 to 1.2."),
]
StopAt: TypeAlias = Annotated[
    float,
    Field(ge=0.5, le=1.0, description="A score that is good enough to stop at, 0.5 to 1."),
]
ExpectedImprovement: TypeAlias = Annotated[
    bool, Field(description="Stop when one more draw is not expected to be worth its cost.")
]
Pairwise: TypeAlias = Annotated[
    bool,
    Field(description="Compare the best two side by side when their scores are about equal."),
]
Weights: TypeAlias = Annotated[
    Literal["shrunk", "softmax", "logodds", "raw"],
    Field(
        description="How scores become weights: exponential in what noise does not explain of them "
        "(shrunk), in all of them (softmax), by their log-odds as if they were probabilities "
        "(logodds), or as they are (raw)."
    ),
]
Stop: TypeAlias = Annotated[
    Literal["beta", "exact"],
    Field(
        description="Stop when the majority is this sure (beta), or when no draw can outweigh "
        "what stands (exact)."
    ),
]
Sureness: TypeAlias = Annotated[
    float,
    Field(
        ge=0.5, le=0.999, description="How sure is sure enough, 0.5 to 0.999; exact does not ask."
    ),
]
AnswerCue: TypeAlias = Annotated[
    Literal["auto", "off"],
    Field(description="Ask for a final line that states the answer; it is taken out again."),
]
MostModels: TypeAlias = Annotated[
    int, Field(ge=2, le=6, description="Most models of the pool to ask, 2 to 6.")
]
Dominance: TypeAlias = Annotated[
    float,
    Field(
        ge=0,
        le=1,
        description="An answer is given as it is if all others have less than this share of its "
        "score or weight; 0 if none is to be.",
    ),
]
GuardOption: TypeAlias = Annotated[
    Literal["auto", "full", "cheap", "post", "off"],
    Field(
        description="What an answer written from several must pass, or the best of them is given: "
        "free checks and a judge's preference (full), free checks while it is let through sentence "
        "by sentence (cheap), checks after the fact that only warn (post), nothing (off). auto: "
        "cheap for a client that streams, else full."
    ),
]
JsonSynthesis: TypeAlias = Annotated[
    bool,
    Field(description="JSON may be written anew too, if it keeps its form; else it is voted on."),
]
Pool: TypeAlias = Annotated[
    Literal["primary", "all"],
    Field(
        description="Draw from the first model or from all in turn; votes of several weigh by how "
        "often each model is right, if that was measured."
    ),
]


def _testing(tests: str | None) -> str | None:
    if tests is not None and not is_python(tests):
        raise ValueError("it is no Python that can be parsed")
    if tests is not None and "assert" not in tests and "def test" not in tests:
        raise ValueError("it asserts nothing")
    return tests


GivenTests: TypeAlias = Annotated[
    str | None,
    AfterValidator(_testing),
    Field(
        min_length=1,
        max_length=100_000,
        description="Python that tests the program in an answer: statements that assert, or "
        "functions named `test...`. Unset: the examples (`>>>`) and `assert` lines in the request.",
    ),
]
SoftmaxTemperature: TypeAlias = Annotated[
    float | None,
    Field(
        ge=0.02,
        le=10,
        description="How little confidence (0 to 1) counts for: 0.02, the surest answer wins, to "
        "10, votes are counted. Unset: 0.08 for a stated confidence, 0.3 for p_true, else 0.1.",
    ),
]
Threshold: TypeAlias = Annotated[
    float,
    Field(
        ge=0.5,
        le=0.99,
        description="The score, 0.5 to 0.99, from which on the draft is left as it is (with accept "
        "score, a revision too). What a judge gives to good answers differs by judge and by kind "
        "of answer: the default is no more than a start.",
    ),
]
Accept: TypeAlias = Annotated[
    Literal["pairwise", "score"],
    Field(
        description="What a revision must pass: preferred side by side in both orders (pairwise), "
        "or a clearly higher score (score)."
    ),
]
EarlyStop: TypeAlias = Annotated[
    bool,
    Field(
        description="Stop when the critic says that nothing is worth a change, whatever it lists."
    ),
]
Patch: TypeAlias = Annotated[
    bool, Field(description="Mend by replacing only what is at fault where that is possible.")
]
Floor: TypeAlias = Annotated[
    Literal["minor", "major", "critical"],
    Field(description="Faults less grave than this are let be."),
]

_JUDGED_TEMPERATURE: Final = 0.5
_STATED_TEMPERATURE: Final = 0.08
_CHECKED_TEMPERATURE: Final = 0.3
_TOKENS_TEMPERATURE: Final = 0.1


def strictness(guard: GuardOption, *, streamed: bool) -> Strictness:
    """Return how an answer that is written anew is guarded, for a client that has it *streamed*."""
    if guard != "auto":
        return guard
    return "cheap" if streamed else "full"


def threshold(stop: Stop, confidence: Sureness) -> float | None:
    """Return how sure a majority must be for a vote to *stop*, None if it stops when settled."""
    return confidence if stop == "beta" else None


def judged_rule(name: RuleName) -> Rule:
    """Return the rule of that *name* for a judge's scores."""
    return Rule(name, _JUDGED_TEMPERATURE)


def confidence_rule(source: str, temperature: float | None) -> Rule:
    """Return the rule for confidence from *source*, with *temperature* where one is given.

    Source: Taubenfeld et al. 2025, arXiv:2502.06233, definition 3.1.
    """
    unset = {
        "verbal_100": _STATED_TEMPERATURE,
        "p_true": _CHECKED_TEMPERATURE,
    }.get(source, _TOKENS_TEMPERATURE)
    return Rule("softmax", unset if temperature is None else temperature)


class JudgedVote(BaseModel, frozen=True, extra="forbid"):
    """How many draws, how their scores count, and when there are enough."""

    num_samples: MostSamples = 5
    temperature: Temperature = 0.7
    weights: Weights = "shrunk"
    stop: Stop = "beta"
    confidence: Sureness = 0.95
    answer_cue: AnswerCue = "auto"
