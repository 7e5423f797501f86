"""What is asked of which set: the arms, and the names under which bars look for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from bench.quality.recorded import RecordedSet
from bench.quality.running import Arm
from gateway.planning.options import can_do_with
from techniques import catalog
from techniques.core.json import Json
from techniques.core.registry import Card, load

PLAIN: Final = "plain"
BEST: Final = "best member"
VOTING: Final = ("date_cot", "date_pot", "llama_date", "llama_gsm", "codex_n40")
POOLS: Final = (
    *("faithful_GSM8K", "faithful_MultiArith", "faithful_SVAMP", "faithful_ASDiv"),
    *("faithful_date", "faithful_CLUTRR", "faithful_AQUA", "faithful_sports"),
    "faithful_StrategyQA",
)
EVERY: Final = ("date_pot", "faithful_GSM8K")
LOOPED: Final = ("gsm8k_texts", "llama_gsm", "faithful_AQUA")
"""Sets for every technique, and for those alone that write a draft anew."""
SMALL: Final = ("small_05b", "small_15b")
LIKELIEST: Final = "best_of_n by logprob"
SIZES: Final = (5, 10, 20)
KNOWN: Final = ", calibrated"
LOOPS: Final = frozenset({"self_refine", "harq_ir", "turbo", "chain_of_verification"})
JUDGED: Final = ("faithful_GSM8K", "faithful_date", "faithful_sports")
_JUDGED: Final = (
    *("diversity_mrc_discrete_N", "diversity_mrc", "mixture_of_agents"),
    *("diversity_sc", "diversity_sc_N"),
)
_ORDERS: Final = {5: 2, 10: 2, 20: 6}
_PERMUTED: Final = 3
_JUDGED_TIMES: Final = 2
"""How often each question is asked: by votes of so many draws, votes of models, and with a judge.

As often as bars of a fifth and of half a point need, and time allows.
"""
_DRAWS: Final[dict[str, Json]] = {"num_samples": 12}


def arms_of(name: str, recorded: RecordedSet, wanted: Sequence[str]) -> list[Arm]:
    """Return what to ask of the set *name*; *wanted* techniques only, all that fit if none."""
    found = list(_arms(name, recorded))
    if not wanted:
        return found
    reference = {PLAIN, BEST}
    return [arm for arm in found if arm.label in reference or arm.technique in wanted]


def every(name: str, recorded: RecordedSet, wanted: Sequence[str]) -> list[Arm]:
    """Return an arm for each technique of the catalogue that the set *name* is for, as it comes."""
    others = tuple(model.name for model in recorded.models[:-1])
    best = recorded.models[-1].name
    cards = {card.name: card for card in load(catalog).values()}
    return [
        Arm(PLAIN, "none", model=best),
        *(
            Arm(technique, technique, model=best, channels=others if _several(card) else ())
            for technique, card in cards.items()
            if technique in (wanted or cards) and (name in EVERY or technique in LOOPS)
            if can_do_with(card, {})
        ),
    ]


def _several(card: Card) -> bool:
    return "two models" in card.traits.needs


def _arms(name: str, recorded: RecordedSet) -> Iterator[Arm]:
    if name in VOTING:
        yield from _votes(recorded)
    elif name in POOLS:
        yield from _pools(name, recorded)
    elif name in SMALL:
        yield from _small()
    elif name == "bfcl":
        yield from _tools(recorded)


def _votes(recorded: RecordedSet) -> Iterator[Arm]:
    yield Arm(PLAIN, "none")
    most = min(len(question.samples[recorded.models[0].name]) for question in recorded.questions)
    for size in (*SIZES, 40):
        if size <= most:
            label = f"self_consistency N={size}"
            params: dict[str, Json] = {"num_samples": size}
            yield Arm(label, "self_consistency", params, repeats=_ORDERS.get(size, 1))
    params = {"num_samples": SIZES[-1], "stop": "beta"}
    label = f"self_consistency N={SIZES[-1]}, beta"
    yield Arm(label, "self_consistency", params)


def _pools(name: str, recorded: RecordedSet) -> Iterator[Arm]:
    best = max(recorded.models, key=lambda model: recorded.accuracy(model.name)).name
    others = tuple(model.name for model in recorded.models if model.name != best)
    yield Arm(BEST, "none", model=best, repeats=_PERMUTED)
    once: dict[str, Json] = {"num_samples": len(recorded.models)}
    combining: list[tuple[str, str, dict[str, Json]]] = [
        ("self_consistency of all", "self_consistency", {"pool": "all", **once}),
        ("self_consistency of all N=12", "self_consistency", {"pool": "all", **_DRAWS}),
        ("diversity_egc", "diversity_egc", {}),
    ]
    if name in JUDGED:
        combining += [(technique, technique, {}) for technique in _JUDGED]
    for label, technique, params in combining:
        often = _JUDGED_TIMES if technique in _JUDGED else _PERMUTED
        yield Arm(label, technique, params, best, others)
        yield Arm(label + KNOWN, technique, params, best, others, calibrated=True, repeats=often)


def _small() -> Iterator[Arm]:
    for label, technique, params in (
        (PLAIN, "none", {}),
        ("self_consistency", "self_consistency", {}),
        (LIKELIEST, "best_of_n", {"score": "logprob"}),
        ("cisc by tokens", "cisc", {"csi_source": "response_probability"}),
    ):
        yield Arm(label, technique, params, temperature=0.0)


def _tools(recorded: RecordedSet) -> Iterator[Arm]:
    flash, mini, strong = (model.name for model in recorded.models)
    yield Arm(BEST, "none", model=strong)
    yield Arm("gpt-4o-mini alone", "none", model=mini)
    yield Arm("cascade", "cascade", {"agree": "pool"}, mini, (flash, strong))
    params: dict[str, Json] = {"pool": "all", "num_samples": 3}
    yield Arm("self_consistency of all", "self_consistency", params, strong, (mini, flash))
