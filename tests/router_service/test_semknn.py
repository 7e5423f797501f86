from __future__ import annotations

import math
from random import Random

import pytest

from router_service.contract import NoExactProfile, Offer
from router_service.engine import Engine
from router_service.settings import RouterSettings
from tests.router_service.rows import features, near, query, row, spec, two_towns, vector

SEMKNN = RouterSettings.model_validate({"type": "semknn"})
EAST, WEST = vector(1, 0, 0), vector(0, 1, 0)


def engine(rows: object = ()) -> Engine:
    made = Engine(SEMKNN)
    made.learn(list(rows))  # type: ignore[call-overload]
    return made


@pytest.mark.parametrize("kind", ["letter", "prose", "code", "tool", "number"])
@pytest.mark.parametrize("lambda_", [0.0, 1.0, 5.0])
def test_nothing_is_done_before_anything_was_learnt(kind: str, lambda_: float) -> None:
    arms = ["none", "self_consistency/5", "exec_bon/5", "none/-/smart", "none/-/primary/high"]

    decided = engine().decide(query(*arms, features=features(kind=kind), **{"lambda": lambda_}))

    assert decided.arm == "none"
    assert decided.match == "default"
    assert decided.estimate


def test_an_arm_is_taken_where_like_prompts_gained_by_it_and_not_elsewhere() -> None:
    learnt = engine(two_towns(120))

    east = learnt.decide(query("none", "best_of_n/3", vector=EAST))
    west = learnt.decide(query("none", "best_of_n/3", vector=WEST))

    assert east.arm == "best_of_n/3"
    assert west.arm == "none"
    assert east.match == west.match == "exact"
    assert not east.estimate
    assert east.confidence is not None
    assert east.confidence > 0.95
    assert east.predicted_quality == pytest.approx(0.76, abs=0.04)
    assert east.predicted_cost == pytest.approx(3.0, abs=0.01)


def test_a_prompt_like_no_other_is_decided_by_the_mean_of_all() -> None:
    rows = [
        row(f"r{place}", "best_of_n/3", 0.2, vector=near(Random(place), 1, 0, 0))
        for place in range(100)
    ]

    decided = engine(rows).decide(query("none", "best_of_n/3", vector=vector(0, 0, -1)))

    assert decided.match == "default"
    assert decided.estimate
    assert decided.similarity is not None
    assert decided.similarity < 0.3
    assert decided.arm == "best_of_n/3"


def test_without_a_vector_the_kind_decides() -> None:
    rows = [
        row(f"{kind}{place}", "self_consistency/3", gain, features=features(kind=kind))
        for kind, gain in (("number", 0.2), ("prose", -0.1))
        for place in range(100)
    ]
    learnt = engine(rows)

    arms = {
        kind: learnt.decide(query("none", "self_consistency/3", features=features(kind=kind))).arm
        for kind in ("number", "prose")
    }

    assert arms == {"number": "self_consistency/3", "prose": "none"}


def test_a_label_counts_where_it_tells_something() -> None:
    random = Random(3)
    rows = [
        row(
            f"r{place}",
            "best_of_n/3",
            (0.3 if place % 2 else -0.2) + random.gauss(0, 0.1),
            features=features(label="hard" if place % 2 else "easy"),
            vector=near(random, 1, 0, 0),
        )
        for place in range(200)
    ]
    learnt = engine(rows)

    gains = {
        label: learnt.decide(
            query("none", "best_of_n/3", features=features(label=label), vector=EAST)
        ).scores["best_of_n/3"]
        for label in ("hard", "easy", "new")
    }

    assert gains["hard"] > 20
    assert gains["easy"] < -15
    assert gains["easy"] < gains["new"] < gains["hard"]


def test_labels_that_tell_nothing_add_nothing() -> None:
    random = Random(4)
    rows = [
        row(
            f"r{place}",
            "best_of_n/3",
            0.1 + random.uniform(-0.35, 0.35),
            features=features(label=f"label{place % 40}"),
        )
        for place in range(400)
    ]
    learnt = engine(rows)

    scores = [
        learnt.decide(
            query("none", "best_of_n/3", features=features(label=f"label{place}"))
        ).scores["best_of_n/3"]
        for place in range(40)
    ]

    assert max(scores) - min(scores) < 2.5


def test_other_models_count_less_and_what_is_said_of_them_is_an_estimate() -> None:
    rows = [each.model_copy(update={"pool": tuple(spec("a", "b"))}) for each in two_towns(120)]
    learnt = engine(rows)

    def decided(*families: str) -> tuple[str, bool, float]:
        found = learnt.decide(query("none", "best_of_n/3", vector=EAST, pool=spec(*families)))
        return found.match, found.estimate, found.scores["best_of_n/3"]

    exact, partial, fallback, none = (
        decided("b", "a"),
        decided("a", "b", "c"),
        decided("a", "x", "y"),
        decided("z"),
    )

    assert [each[0] for each in (exact, partial, fallback, none)] == [
        "exact",
        "partial",
        "fallback",
        "default",
    ]
    assert [each[1] for each in (exact, partial, fallback, none)] == [False, True, True, True]
    assert exact[2] > partial[2] > none[2]


def test_a_strict_query_is_refused_where_just_its_models_were_never_seen() -> None:
    learnt = engine(two_towns(40))

    with pytest.raises(NoExactProfile) as refused:
        learnt.decide(query("none", "best_of_n/3", strict=True, pool=spec("z")))

    assert refused.value.have == ("=m",)
    assert learnt.decide(query("none", "best_of_n/3", strict=True, vector=EAST)).arm


def test_a_strict_query_is_refused_where_nobody_said_what_an_answer_was_worth() -> None:
    unjudged = [
        row(f"r{place}", arm, None, vector=EAST)
        for place in range(5)
        for arm in ("none", "best_of_n/3")
    ]
    strict = query("none", "best_of_n/3", strict=True, vector=EAST)

    with pytest.raises(NoExactProfile) as refused:
        engine(unjudged).decide(strict)

    assert refused.value.have == ()
    assert engine([*unjudged, *two_towns(4)]).decide(strict).arm


def test_a_strict_query_is_more_cautious() -> None:
    learnt = engine(two_towns(40))

    scores = [
        learnt.decide(query("none", "best_of_n/3", strict=strict, vector=EAST)).scores[
            "best_of_n/3"
        ]
        for strict in (False, True)
    ]

    assert scores[1] < scores[0]


def test_a_masked_arm_is_never_taken_and_its_reason_told() -> None:
    learnt = engine(two_towns(120))
    asked = query("none", vector=EAST)
    masked = Offer(arm="best_of_n/3", masked="no_judge")

    decided = learnt.decide(asked.model_copy(update={"offers": (*asked.offers, masked)}))

    assert decided.arm == "none"
    assert decided.masked == {"best_of_n/3": "no_judge"}
    assert "best_of_n/3" not in decided.scores


def test_where_every_arm_is_masked_the_first_is_taken() -> None:
    masked = tuple(Offer(arm=arm, masked="deadline") for arm in ("none", "best_of_n/3"))

    decided = engine().decide(query("none").model_copy(update={"offers": masked}))

    assert decided.arm == "none"
    assert decided.masked == {"none": "deadline", "best_of_n/3": "deadline"}


def test_rows_without_a_plain_quality_are_set_against_what_plain_calls_came_to() -> None:
    random = Random(5)
    plain = [
        row(f"p{place}", "none", None, quality=0.4 + random.gauss(0, 0.02), plain_quality=None)
        for place in range(60)
    ]
    better = [
        row(f"b{place}", "best_of_n/3", None, quality=0.7, plain_quality=None)
        for place in range(60)
    ]

    decided = engine(plain + better).decide(query("none", "best_of_n/3"))

    assert decided.predicted_quality == pytest.approx(0.7, abs=0.1)
    assert decided.arm == "best_of_n/3"


def test_old_rows_give_way_to_new_ones() -> None:
    old = [row(f"o{place}", "best_of_n/3", -0.3, vector=EAST) for place in range(100)]
    day = 86_400.0
    new = [
        row(f"n{place}", "best_of_n/3", 0.3, vector=EAST, at=1_000_000 + 300 * day)
        for place in range(100)
    ]

    scores = engine(old + new).decide(query("none", "best_of_n/3", vector=EAST)).scores

    assert scores["best_of_n/3"] > 20


def test_what_was_learnt_before_stays_and_a_row_is_replaced_by_its_name() -> None:
    rows = two_towns(120)
    grown = Engine(SEMKNN)
    for begin in range(0, 120, 30):
        grown.learn(rows[begin : begin + 30])
    worse = [each.model_copy(update={"quality": 0.1}) for each in rows]

    asked = query("none", "best_of_n/3", vector=EAST)
    before = grown.decide(asked)
    grown.learn(worse)

    assert before.scores["best_of_n/3"] == pytest.approx(
        engine(rows).decide(asked).scores["best_of_n/3"], abs=0.5
    )
    assert grown.decide(asked).arm == "none"


@pytest.mark.parametrize("ahead", [2.0, 1_000.0])
def test_one_row_of_a_clock_that_is_wrong_makes_no_other_old(ahead: float) -> None:
    now = 1_780_000_000.0
    asked = query("none", "best_of_n/3", vector=EAST)
    right = [each.model_copy(update={"at": now - 60}) for each in two_towns(120)]
    odd = row("odd", "none", 0.0, at=now * ahead)
    learnt = Engine(SEMKNN, clock=lambda: now)

    learnt.learn(right)
    before = learnt.decide(asked)
    learnt.learn([odd])

    assert before.arm == "best_of_n/3"
    assert learnt.decide(asked).arm == "best_of_n/3"


def test_learning_afresh_forgets_what_was_known() -> None:
    learnt = engine(two_towns(120))

    learnt.learn([], afresh=True)

    assert learnt.decide(query("none", "best_of_n/3", vector=EAST)).arm == "none"


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [row("a", "best_of_n/3", 0.1)],
        [row(f"r{place}", "best_of_n/3", 0.1, vector=EAST) for place in range(50)],
        [row(f"r{place}", "none", 0.0, vector=EAST) for place in range(50)],
        [row("a", "best_of_n/3", None, cost=None, plain_quality=None, vector=EAST)],
        [row("a", "best_of_n/3", 0.1, cost=0.0, latency_ms=0.0, reliability=0.0, vector=EAST)],
        [row("a", "best_of_n/3", 0.1, vector=vector(0, 0, 0)), row("b", "x/-/y", 0.1)],
        [row("a", "no/name/of/an/arm", 0.1, vector=vector(1, 0)), row("b", "s", 0.1, vector=EAST)],
    ],
    ids=["none", "one", "one place", "plain only", "nothing told", "worthless", "zero", "widths"],
)
@pytest.mark.parametrize("at", [None, EAST, vector(0, 0, 0), vector(1, 0), WEST])
def test_whatever_the_rows_are_the_numbers_are_numbers(rows: list[object], at: object) -> None:
    learnt = engine(rows)

    decided = learnt.decide(query("none", "best_of_n/3", "s", "no/name/of/an/arm", vector=at))

    assert all(math.isfinite(score) for score in decided.scores.values())
    assert decided.predicted_cost is not None
    assert math.isfinite(decided.predicted_cost)
