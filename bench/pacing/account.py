"""One account at a provider: what it charges for a call, when, and whether it lets the call in."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from random import Random  # noqa: TID251 - always with a seed
from typing import Final, Literal, TypeAlias

from bench.pacing.windows import Bucket, Counter, Window

Vendor: TypeAlias = Literal["openai", "azure", "groq", "anthropic"]
VENDORS: Final[tuple[Vendor, ...]] = ("openai", "azure", "groq", "anthropic")

_DAY_S: Final = 86_400.0
_GROQ_A_DAY: Final = 14_400
_SLICE_S: Final = 10.0
_SLICES: Final = 6
_OUTPUT_SHARE: Final = 8 / 30
_CHARACTERS: Final = 4
"""Of a token, as OpenAI guesses the size of a call before it has read it."""
_DRAIN_EVERY_S: Final = (1.0, 4.0)


@dataclass(frozen=True, slots=True)
class Terms:
    """What an account is allowed a minute, and who else uses it.

    Attributes:
        drain: The share of its tokens that somebody else takes, unseen.
    """

    vendor: Vendor
    tpm: int = 30_000
    rpm: int = 120
    drain: float = 0.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Asked:
    """One call as the provider sees it. Sizes in tokens, ``characters`` of all texts.

    ``marked`` tells that it is a step of an agent; all else is a call that no agent asked for.
    """

    prompt: int
    characters: int
    output: int
    max_tokens: int
    streamed: bool = False
    marked: bool = True


@dataclass(frozen=True, slots=True)
class Refused:
    """A call that is not let in: the window that lacks ``amount``, and for how many seconds."""

    window: str
    amount: float
    wait_s: float


@dataclass
class Counted:
    """What an account has seen. Tokens; ``charged`` by the vendor's own rule."""

    granted: int = 0
    refused: int = 0
    unasked: int = 0
    charged: float = 0.0
    resent: int = 0
    drained: float = 0.0
    prompt: int = 0
    output: int = 0
    wasted: float = 0.0


@dataclass
class Account:
    """Its windows, by name, and its counts. ``main`` is the window that agents compete for."""

    terms: Terms
    started: float = 0.0
    windows: dict[str, Window] = field(init=False)
    main: str = field(init=False)
    counted: Counted = field(default_factory=Counted, init=False)

    def __post_init__(self) -> None:
        self.windows = _windows(self.terms, self.started)
        self.main = "input-tokens" if self.terms.vendor == "anthropic" else "tokens"
        self._dice = Random(self.terms.seed)
        self._next_drain = self.started + self._dice.uniform(*_DRAIN_EVERY_S)

    def admit(self, asked: Asked, now: float) -> Refused | None:
        """Let a call in and charge it, or return why not."""
        self.pass_time(now)
        needs = charge(self.terms.vendor, asked)
        waits = {name: self.windows[name].wait(amount, now) for name, amount in needs.items()}
        tightest = max(waits, key=lambda name: waits[name])
        if not asked.marked:
            self.counted.unasked += 1
        if waits[tightest] > 0:
            self.counted.refused += 1
            self.counted.resent += asked.prompt
            if self.terms.vendor == "openai" and self.windows["requests"].left(now) >= 1:
                self.windows["requests"].take(1, now)  # it counts refused requests, too
            return Refused(tightest, needs[tightest], waits[tightest])
        for name, amount in needs.items():
            self.windows[name].take(amount, now)
        self.counted.granted += 1
        self.counted.charged += needs[self.main]
        self.counted.prompt += asked.prompt
        self.counted.output += asked.output
        return None

    def ended(self, asked: Asked, now: float) -> None:
        """Charge what is charged only when it was written."""
        if self.terms.vendor == "anthropic":
            self.windows["output-tokens"].take(asked.output, now)

    def pass_time(self, now: float) -> None:
        """Let whoever else uses the account take its part of the tokens up to *now*.

        Two and a half times the mean of the gaps is what a minute's rate gives in a gap.
        """
        window = self.windows[self.main]
        part = self.terms.drain * window.cap / window.period_s * sum(_DRAIN_EVERY_S) / 2
        while part and self._next_drain <= now:
            amount = min(part, max(0.0, window.left(self._next_drain)))
            window.take(amount, self._next_drain)
            self.counted.drained += amount
            self._next_drain += self._dice.uniform(*_DRAIN_EVERY_S)
        if isinstance(window, Counter):
            window.left(now)
            self.counted.wasted = window.wasted


def charge(vendor: Vendor, asked: Asked) -> dict[str, float]:
    """Return what a call needs of each window to be let in.

    OpenAI: the larger of max_tokens and a guess by characters; Azure: the prompt and max_tokens,
    requests also in slices of a minute; Groq: what the call really takes, and a day's requests
    beside; Anthropic: input apart from output, of which some must be left.
    """
    match vendor:
        case "openai":
            guess = max(asked.max_tokens, math.ceil(asked.characters / _CHARACTERS))
            return {"requests": 1, "tokens": guess}
        case "azure":
            return {"requests": 1, "slice": 1, "tokens": asked.prompt + asked.max_tokens}
        case "groq":
            return {"requests": 1, "requests-day": 1, "tokens": asked.prompt + asked.output}
        case "anthropic":
            return {"requests": 1, "input-tokens": asked.prompt, "output-tokens": 0}


def _windows(terms: Terms, started: float) -> dict[str, Window]:
    match terms.vendor:
        case "openai":
            return {"requests": Bucket(terms.rpm), "tokens": Bucket(terms.tpm)}
        case "azure":
            # the minute of the account is nobody else's
            origin = started - Random(terms.seed).uniform(0, 60)
            return {
                "requests": Counter(terms.rpm, origin=origin),
                "slice": Counter(terms.rpm // _SLICES, _SLICE_S, origin),
                "tokens": Counter(terms.tpm, origin=origin),
            }
        case "groq":
            day = Bucket(_GROQ_A_DAY, _DAY_S)
            return {
                "requests": Bucket(terms.rpm),
                "requests-day": day,
                "tokens": Bucket(terms.tpm),
            }
        case "anthropic":
            return {
                "requests": Bucket(terms.rpm),
                "input-tokens": Bucket(terms.tpm),
                "output-tokens": Bucket(round(terms.tpm * _OUTPUT_SHARE)),
            }
