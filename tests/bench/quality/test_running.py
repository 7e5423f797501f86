from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench.quality.arms import BEST, LOOPS, PLAIN, arms_of, every
from bench.quality.inside import paired
from bench.quality.keeping import keep, kept
from bench.quality.pooled import pooled
from bench.quality.recorded import Question, RecordedModel, RecordedSet, Sample
from bench.quality.replay import Replay, Terms
from bench.quality.report import Bar, bars, bars_table, table
from bench.quality.rig import Given, configuration, given
from bench.quality.running import Arm, Ran, Tally, headers, majority, plain_majority
from gateway.config import Config
from gateway.planning.options import can_do_with
from techniques import catalog
from techniques.catalog.self_consistency import Options
from techniques.core.json import Json
from techniques.core.registry import load

MODELS = (RecordedModel("weak"), RecordedModel("strong", "10", "30"))


def question(place: int, answers: str = "42 42 41 42 43") -> Question:
    samples = tuple(Sample(answer, answer == "42") for answer in answers.split())
    return Question(
        str(place),
        f"Question {place}?",
        frozenset({"42"}),
        dict.fromkeys(("weak", "strong"), samples),
    )


SET = RecordedSet("tiny", "two models", MODELS, tuple(question(place) for place in range(4)))


def tally(*rights: float, calls: float = 1.0, warned: int = 0) -> Tally:
    made = Tally()
    for value in rights:
        made.add([Given("right" if value else "wrong", 1, 10, 0.5, 2.0)], is_right)
    made.calls = [calls] * len(rights)
    made.warnings["uncalibrated"] = warned
    return made


def is_right(got: Given) -> bool:
    return got.text == "right"


def bar(found: list[Bar], beginning: str) -> Bar:
    return next(one for one in found if one.name.startswith(beginning))


def test_the_first_of_those_as_frequent_has_the_majority() -> None:
    assert majority(["a", "b", "b", "a"]) == "a"
    assert majority(["a", "b", None, "b"]) == "b"
    assert majority([None, None]) is None


def test_a_plain_majority_is_counted_over_the_same_draws_that_are_replayed() -> None:
    replay = Replay(SET, Terms())

    found = plain_majority(SET, Terms(), 1, repeats=2)

    for one, value in zip(SET.questions, found, strict=True):
        firsts = [replay.order(one, "weak", repeat)[0].right for repeat in (0, 1)]
        assert value == sum(firsts) / 2
    assert plain_majority(SET, Terms(), 5) == [1.0] * 4


def test_a_failure_is_a_wrong_answer() -> None:
    made = Tally()
    made.add([Given("42"), Given("", failure="down")], lambda got: got.text == "42")

    assert made.right == [0.5]
    assert made.failures == {"down": 1}


def test_what_an_answer_took_is_read_from_its_headers_and_its_usage() -> None:
    body = {
        "choices": [{"message": {"content": "42"}}],
        "usage": {"total_tokens": 10, "lockgate": {"total_tokens": 30}},
    }
    told = {
        "X-Lockgate-Calls": "3",
        "X-Lockgate-Cost-Usd": "0.25",
        "x-lockgate-warnings": "uncalibrated: a; b",
    }

    found = given(body, told, 1.5)

    assert (found.text, found.calls, found.tokens, found.cost) == ("42", 3, 30, 0.25)
    assert found.warnings == {"uncalibrated", "b"}


def test_an_arm_is_asked_for_by_headers() -> None:
    asked = headers(Arm("x", "self_consistency", {"num_samples": 9}, channels=("a", "b")))

    assert asked["x-lockgate-technique"] == "self_consistency"
    assert asked["x-lockgate-params"] == '{"num_samples":9}'
    assert asked["x-lockgate-channels"] == "a,b"


def test_the_gateways_configuration_is_one() -> None:
    made = Config.model_validate(configuration(SET, 8080, 9000, None))

    assert [model.name for model in made.models] == ["weak", "strong", "judge", "critic"]
    assert made.reliability.judge == "judge"


def test_every_technique_of_the_catalogue_has_an_arm() -> None:
    cards = {card.name for card in load(catalog).values() if can_do_with(card, {})}

    arms = every("date_pot", SET, [])

    assert {arm.technique for arm in arms} == {"none", *cards}
    assert [arm.technique for arm in every("date_pot", SET, ["cisc"])] == ["none", "cisc"]
    assert all(arm.model == "strong" for arm in arms)
    assert {arm.technique for arm in every("gsm8k_texts", SET, [])} == {"none", *LOOPS}


@pytest.mark.parametrize("name", ["date_pot", "faithful_date"])
def test_the_reference_is_asked_whatever_is_wanted(name: str) -> None:
    labels = [arm.label for arm in arms_of(name, SET, ["cisc"])]

    assert labels in ([PLAIN], [BEST])


def test_a_row_compares_with_the_reference() -> None:
    ran = Ran(SET, {PLAIN: tally(1, 0, 0, 0), "vote": tally(1, 1, 1, 0, calls=3.0)})

    text = table("tiny", ran)

    assert "| plain | 25.0 (4.6 to 69.9) |  | 1.00 |" in text
    assert "| vote | 75.0 (30.1 to 95.4) | +50.0 (" in text


def voted(calls: float, rights: tuple[float, ...] = (1, 1, 1, 1)) -> list[Bar]:
    sizes = {f"self_consistency N={size}": tally(*rights, calls=calls) for size in (5, 10, 20)}
    return bars({"date_pot": Ran(SET, {PLAIN: tally(1, 1, 1, 0), **sizes})}, {}, Terms())


def test_the_same_orders_are_compared_where_one_was_asked_more_often() -> None:
    often, once = Tally(), Tally()
    often.add([Given("right"), Given("wrong"), Given("wrong")], is_right)
    once.add([Given("right")], is_right)

    assert often.right == [1 / 3]
    assert once.against(often).mean == 0


def test_a_vote_is_paired_with_the_plain_majority_of_the_same_orders() -> None:
    recorded = replace(SET, models=MODELS[:1])

    found = paired(recorded, Options(num_samples=5), 3)
    one = paired(replace(recorded, questions=(question(0, "42 42 42 42 42"),)), Options(), 2)

    assert found.gained.mean == 0
    assert 0 <= found.saved < 40
    assert one.saved == pytest.approx(40)


def test_a_calibrated_pool_is_paired_with_its_best_member() -> None:
    answers = {"strong": "42 42 42", "weak": "41 41 41"}
    questions = tuple(
        Question(
            str(place),
            f"How much is sum {place}?",
            frozenset({"42"}),
            {
                model: tuple(Sample(one, one == "42") for one in given.split())
                for model, given in answers.items()
            },
        )
        for place in range(12)
    )
    params: dict[str, Json] = {"pool": "all", "num_samples": 2}
    from_weak = Arm("weak", "self_consistency", params, "weak", ("strong",))
    from_strong = Arm("strong", "self_consistency", params, "strong", ("weak",))

    found = pooled(replace(SET, questions=questions), [from_weak, from_strong], 2)

    assert (found["weak"].gained.mean, found["strong"].gained.mean) == (1, 0)
    assert found["weak"].calls == found["strong"].calls == 1


def test_what_was_measured_is_kept_and_read_again(tmp_path: Path) -> None:
    turned = replace(SET, questions=SET.questions[::-1])
    ran = Ran(turned, {"vote": tally(1, 0, 0, 1, warned=2)})

    keep(tmp_path / "new", "tiny", ran)

    assert kept(tmp_path / "new", "tiny", SET) == ran
    assert kept(tmp_path / "new", "other", SET) is None
    assert kept(None, "tiny", SET) is None


def test_a_vote_must_keep_the_accuracy_and_save_samples() -> None:
    assert bar(voted(3.9), "vote, N = 5, date_pot").met
    assert bar(voted(4.5), "vote, N = 5, date_pot").met is False
    assert bar(voted(3.9, (1, 1, 1, 0)), "vote, N = 5, date_pot").met is False


def test_calibrated_pools_are_held_against_the_best_member_and_others_must_warn() -> None:
    tallies = {
        BEST: tally(1, 1, 1, 0),
        "vote": tally(1, 0, 0, 0, warned=1),
        "vote, calibrated": tally(1, 1, 0, 0),
    }
    ran = {"faithful_date": Ran(SET, tallies)}

    assert bar(bars(ran, {}, Terms()), "faithful_date, calibrated").met is False
    assert bar(bars(ran, {}, Terms()), "faithful_date, uncalibrated").met
    tallies["vote"].warnings.clear()
    assert bar(bars(ran, {}, Terms()), "faithful_date, uncalibrated").met is False


def test_what_was_not_measured_is_neither_met_nor_missed() -> None:
    found = bars({}, {}, Terms())

    assert found
    assert all(one.met is None for one in found)
    assert "not measured" in bars_table(found)


def test_a_vote_must_stop_at_its_least_over_all_questions_whose_draws_hardly_differ() -> None:
    def found(*calls: float) -> Bar:
        made = tally(1, 1, 1, 1)
        made.calls = list(calls)
        alike = tuple(question(place, "42 42 42") for place in range(3))
        codex = RecordedSet("codex", "", MODELS[:1], (*alike, question(3)))
        votes = {f"self_consistency N={size}": made for size in (5, 10, 20)}
        ran = Ran(codex, {PLAIN: tally(1, 1, 1, 0), **votes})
        return bar(bars({"codex_n40": ran}, {}, Terms()), "vote, codex_n40, draws")

    assert found(3, 3, 3, 3.4).met
    dear = found(3, 3, 3, 5)
    assert dear.met is False
    assert dear.found == (
        "3.50, 3.50, 3.50 (on the 3 of 4 whose draws are all the same 3.00, 3.00, 3.00)"
    )


@pytest.mark.parametrize("technique", ["diversity_sc", "diversity_sc_N", "diversity_egc"])
def test_no_technique_of_several_models_is_left_out_of_what_a_calibrated_pool_must_reach(
    technique: str,
) -> None:
    tallies = {
        BEST: tally(1, 1, 1, 0),
        "vote, calibrated": tally(1, 1, 1, 1),
        f"{technique}, calibrated": tally(1, 0, 0, 0),
    }

    found = bar(
        bars({"faithful_date": Ran(SET, tallies)}, {}, Terms()), "faithful_date, calibrated"
    )

    assert found.met is False
    assert found.found.startswith(technique)


@pytest.mark.parametrize(
    ("right", "cost", "met"), [(872, 0.5, True), (871, 0.4, False), (900, 0.6, False)]
)
def test_the_cascade_must_be_right_as_often_as_the_reference_at_half_the_cost(
    right: int, cost: float, *, met: bool
) -> None:
    cascade, best = tally(*[1] * right, *[0] * (1000 - right)), tally(*[1] * 850, *[0] * 150)
    cascade.cost, best.cost = [cost] * 1000, [1.0] * 1000

    found = bars({"bfcl": Ran(SET, {BEST: best, "cascade": cascade})}, {}, Terms())

    assert bar(found, "bfcl: cascade").met is met


def test_a_bar_that_is_missed_is_not_met_even_within_the_noise() -> None:
    lines = bars_table([Bar("a", "0", "1", met=False), Bar("b", "0", "1", met=False, near=True)])

    assert "| a | 0 | 1 | **not met** |" in lines
    assert "| b | 0 | 1 | **not met**, within the noise |" in lines
