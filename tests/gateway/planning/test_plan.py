from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from gateway.metering.caps import Caps
from gateway.planning.plan import Defaults, Plan
from gateway.planning.planner import Planner
from gateway.policy.access import may_apply, may_use
from gateway.policy.keys import OPEN, Caller
from gateway.policy.models import Catalogue
from gateway.policy.wishes import Wishes
from pricing.price import Price
from router_service.arms import arm_of
from techniques.core.errors import Denied, RequestRejected, UnknownModel
from techniques.core.events import Warned
from techniques.core.json import Json
from tests.gateway.planning.scene import CARDS, MODELS, call, model, names, plan, planner

REFINE, VOTE = "self_refine", "self_consistency"
LIMITED = Caller(
    "k", models=frozenset({"fast", "claude-*"}), techniques=frozenset({VOTE}), budgeted=True
)


def test_who_asks_for_nothing_gets_the_model_and_its_fallbacks() -> None:
    made = plan()

    assert names(made.models) == ["fast", "smart", "cheap"]
    assert (made.technique, made.card, made.options, made.why) == ("none", None, None, "default")
    assert made.model.name == "fast"
    assert made.rescue
    assert not made.strict


@pytest.mark.parametrize(
    ("name", "wished", "default", "expected", "why"),
    [
        ("fast", None, "none", "none", "default"),
        ("fast", None, VOTE, VOTE, "default"),
        (f"{VOTE}/fast", None, "none", VOTE, "model slug"),
        ("none/fast", None, VOTE, "none", "model slug"),
        (f"{VOTE}/fast", REFINE, "best_of_n", REFINE, "asked for"),
        (f"{VOTE}/fast", "none", VOTE, "none", "asked for"),
    ],
)
def test_a_wish_goes_before_the_slug_and_the_slug_before_the_default(
    name: str, wished: str | None, default: str, expected: str, why: str
) -> None:
    wishes: dict[str, Json] = {"technique": wished} if wished else {}

    made = plan(name, defaults=Defaults(technique=default), **wishes)

    assert (made.technique, made.why) == (expected, why)
    assert made.model.name == "fast"


def test_a_slash_in_a_models_own_name_is_no_slug() -> None:
    assert plan("org/llama").model.name == "org/llama"
    assert plan(f"{VOTE}/org/llama").technique == VOTE


@pytest.mark.parametrize("name", ["nope", f"{VOTE}/nope", "no_technique/fast", "", "claude-*"])
def test_a_model_that_does_not_exist_is_named(name: str) -> None:
    with pytest.raises(UnknownModel) as caught:
        plan(name)

    assert caught.value.param == "model"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("self_consistancy/fast", f"'self_consistancy' is no technique. Did you mean {VOTE}?"),
        ("openai/fast", "'openai' is no technique."),
        ("openai/org/llama", "'openai' is no technique."),
        ("fastt/nope", "'fastt/nope'; GET /v1/models lists them."),
        (f"{VOTE}/nope", "'nope'; GET /v1/models lists them."),
        ("nope", "'nope'; GET /v1/models lists them."),
        ("auto", "'auto' is a technique, and stands before a model's name: auto/MODEL."),
        (VOTE, f"'{VOTE}' is a technique, and stands before a model's name: {VOTE}/MODEL."),
        (f"{VOTE}/", "''; GET /v1/models lists them."),
    ],
)
def test_what_was_taken_for_a_technique_or_a_model_is_named(name: str, hint: str) -> None:
    with pytest.raises(UnknownModel) as caught:
        plan(name)

    assert caught.value.message.endswith(hint)
    assert (caught.value.code, caught.value.param) == ("model_not_found", "model")


def test_a_technique_that_does_not_exist_is_named_with_those_that_do() -> None:
    with pytest.raises(RequestRejected, match=VOTE) as caught:
        plan(technique="telepathy")

    assert (caught.value.code, caught.value.param) == ("unknown_technique", "x-lockgate-technique")


def test_options_are_the_configurations_under_the_requests() -> None:
    defaults = Defaults(options={VOTE: {"num_samples": 9}})

    for params, expected in ((None, 9), ({"num_samples": 3}, 3)):
        made = plan(technique=VOTE, defaults=defaults, params=params)
        assert made.options is not None
        assert made.options.model_dump()["num_samples"] == expected


@pytest.mark.parametrize(
    ("params", "said"),
    [
        (
            {"num_sample": 3},
            r"'num_sample' of self_consistency does not exist; there are num_samples, .*"
            r"Did you mean num_samples\?",
        ),
        (
            {"zebra": 3},
            r"'zebra' of self_consistency does not exist; there are num_samples, [^?]*$",
        ),
        ({"num_samples": "x"}, r"'num_samples' .* must be a valid integer.* It takes 2 to 40\."),
        ({"num_samples": 99}, r"must be less than or equal to 40\. It takes 2 to 40\."),
    ],
)
def test_options_that_are_unknown_or_out_of_range_are_refused(
    params: dict[str, Json], said: str
) -> None:
    with pytest.raises(RequestRejected, match=said) as caught:
        plan(technique=VOTE, params=params)

    assert (caught.value.code, caught.value.param) == ("invalid_option", "x-lockgate-params")


def test_an_option_that_must_be_given_is_named() -> None:
    with pytest.raises(RequestRejected, match="'weights' of acm_learned is missing") as caught:
        plan(technique="acm_learned")

    assert (caught.value.code, caught.value.param) == ("invalid_option", "x-lockgate-params")


ROW: dict[str, Json] = {"name": "all", "difficulty_range": [0, 1], "technique": "baseline"}


@pytest.mark.parametrize(
    ("technique", "params", "said"),
    [
        (
            "acm",
            {"table": [{**ROW, "tecnique": "x"}]},
            r"'table\.0\.tecnique' of acm does not exist; there are technique, .* "
            r"Did you mean technique\?",
        ),
        (
            "acm",
            {"table": [{"name": "a"}]},
            r"'table\.0\.technique' of acm is missing\. It takes str",
        ),
        (
            "acm",
            {"table": [{**ROW, "difficulty_range": [0, "x"]}]},
            r"'table\.0\.difficulty_range\.1' of acm must be a valid number.* It takes number",
        ),
        (
            "soft_acm",
            {"bins": [{"at_least": 7, "technique": "baseline"}]},
            r"'bins\.0\.at_least' of acm_soft must be less than 1\. It takes 0 to less than 1\.",
        ),
        (
            "soft_acm",
            {"category_shifts": {"code": 3}},
            r"'category_shifts\.code' of acm_soft must be less .* It takes -0\.25 to 0\.25",
        ),
        (
            "acm",
            {"category_tables": {"cooking": [ROW]}},
            r"'category_tables\.cooking.*' of acm must be 'qa', ",
        ),
    ],
)
def test_what_is_wrong_inside_an_option_is_told_by_its_path_and_range(
    technique: str, params: dict[str, Json], said: str
) -> None:
    with pytest.raises(RequestRejected, match=said) as caught:
        plan(technique=technique, params=params)

    assert (caught.value.code, caught.value.param) == ("invalid_option", "x-lockgate-params")


def test_a_table_that_hands_on_to_nothing_is_refused() -> None:
    row = {"name": "all", "difficulty_range": [0, 1], "technique": "telepathy"}
    with pytest.raises(RequestRejected, match="there is no technique 'telepathy'"):
        plan(technique="acm", params={"table": [row]})


def test_a_technique_may_hand_on_to_what_its_caller_may_use_with_the_operators_options() -> None:
    caller = Caller("k", techniques=frozenset({"acm", VOTE}))
    defaults = Defaults(options={VOTE: {"num_samples": 9}})
    made = plan(technique="acm", caller=caller, defaults=defaults)

    assert made.techniques == {"acm": {}, "baseline": {}, VOTE: {"num_samples": 9}}
    assert plan(technique="acm").techniques.keys() == {card.name for card in CARDS.values()}


def test_without_a_choice_auto_is_the_default_technique_and_says_that_one_is_to_choose() -> None:
    for default, expected in ((REFINE, REFINE), ("auto", "none"), ("none", "none")):
        made = plan("auto/fast", defaults=Defaults(technique=default))

        assert (made.technique, made.auto, made.why) == (expected, True, "auto")
    assert not plan("fast", defaults=Defaults(technique=REFINE)).auto
    assert plan("fast", technique="auto").auto
    assert not plan("auto/fast", technique=VOTE).auto


def arm(name: str, wished: str = "auto", caller: Caller = OPEN, **wishes: Json) -> Plan:
    asked = replace(Wishes(), technique=wished, **wishes)
    return planner(Defaults(options={VOTE: {"num_samples": 9}}), STRONGER).plan(
        call(), caller, asked, arm_of(name)
    )


STRONGER = tuple(replace(one, stronger="smart") if one.name == "fast" else one for one in MODELS)


def test_a_size_is_the_option_that_says_how_much_and_the_requests_own_wins() -> None:
    for name, option, expected in (
        ("self_consistency", "num_samples", 9),
        ("self_consistency/3", "num_samples", 3),
        ("harq_ir/2", "max_rounds", 2),
        ("chain_of_verification/4", "num_verification_questions", 4),
    ):
        options = arm(name).options
        assert options is not None
        assert getattr(options, option) == expected
    options = arm("self_consistency/3", params={"num_samples": 7}).options
    assert options is not None
    assert options.model_dump()["num_samples"] == 7


def test_a_size_of_a_technique_that_has_none_is_refused() -> None:
    with pytest.raises(RequestRejected, match="re2 has no size"):
        arm("re2/3")


def test_another_channel_answers_and_the_model_asked_for_stands_in_for_it() -> None:
    assert names(arm("none/-/cheap").models) == ["cheap", "fast", "smart"]
    assert names(arm("self_consistency/3/cheap").pool) == ["cheap"]
    with pytest.raises(Denied, match="smart"):
        arm("none/-/smart", caller=LIMITED)


def test_a_plain_call_with_an_effort_is_one_that_thinks_harder() -> None:
    made = arm("none/-/-/high")
    assert (made.technique, made.effort) == ("effort_up", "")
    assert made.options is not None
    assert made.options.model_dump() == {"effort": "high"}
    assert arm("self_consistency/3/-/low").effort == "low"


def test_a_cascade_climbs_to_the_stronger_model_unless_the_request_names_others() -> None:
    assert names(arm("cascade").pool) == ["fast", "smart"]
    assert names(arm("cascade", channels=("cheap",)).pool) == ["fast", "cheap"]
    with pytest.raises(Denied):
        arm("cascade", caller=Caller("k", models=frozenset({"fast"})))


def test_fallbacks_that_are_asked_for_replace_the_configurations() -> None:
    assert names(plan(fallbacks=("smart",)).models) == ["fast", "smart"]
    with pytest.raises(UnknownModel):
        plan(fallbacks=("nope",))


def test_fallbacks_of_the_configuration_that_a_key_may_not_use_are_left_out() -> None:
    assert names(plan(caller=LIMITED).models) == ["fast"]


def test_a_technique_draws_from_the_model_and_the_channels_each_once() -> None:
    made = plan(technique=VOTE, channels=("smart", "fast", "cheap"))

    assert names(made.pool) == ["fast", "smart", "cheap"]


def test_two_models_that_one_row_serves_are_two() -> None:
    made = plan("claude-haiku", technique=VOTE, channels=("claude-haiku", "claude-sonnet"))

    assert names(made.pool) == ["claude-haiku", "claude-sonnet"]


@pytest.mark.parametrize("role", ["judge", "critic"])
def test_a_wished_judge_or_critic_replaces_the_configured_one(role: str) -> None:
    defaults = Defaults(judge="smart", critic="smart")
    asked: dict[str, Json] = {role: "cheap"}

    assert getattr(plan(defaults=defaults), role).name == "smart"
    assert getattr(plan(defaults=defaults, **asked), role).name == "cheap"
    assert getattr(plan(), role) is None


def test_the_simulations_judge_judges_only_the_simulation() -> None:
    defaults = Defaults(judge="sim-judge")

    assert plan("sim", defaults=defaults).judge is not None
    assert plan("fast", defaults=defaults).judge is None


@pytest.mark.parametrize(
    "wishes",
    [{"fallbacks": ("smart",)}, {"channels": ("smart",)}, {"judge": "smart"}, {"critic": "smart"}],
)
def test_a_key_may_not_reach_a_model_it_is_denied_in_any_role(wishes: dict[str, Json]) -> None:
    with pytest.raises(Denied, match="smart"):
        plan(caller=LIMITED, **wishes)


def test_a_key_may_not_use_what_it_is_not_given() -> None:
    with pytest.raises(Denied, match="smart"):
        plan("smart", LIMITED)
    with pytest.raises(Denied, match=REFINE) as caught:
        plan("fast", LIMITED, technique=REFINE)
    assert caught.value.param == "x-lockgate-technique"


def test_a_key_may_use_what_it_is_given() -> None:
    assert plan("fast", LIMITED, technique=VOTE).technique == VOTE
    assert plan("fast", LIMITED, technique="none").technique == "none"
    assert names(plan("claude-haiku-5", LIMITED).models) == ["claude-haiku-5"]


@pytest.mark.parametrize(
    ("allowed", "name", "served_as", "may"),
    [
        (None, "fast", "gpt-4o", True),
        ({"fast"}, "fast", "gpt-4o", True),
        ({"other"}, "fast", "gpt-4o", False),
        (set(), "fast", "gpt-4o", False),
        ({"f*"}, "fast", "gpt-4o", True),
        ({"gpt-4o"}, "admin-only", "gpt-4o", False),
        ({"gpt-*"}, "admin-only", "gpt-4o", False),
        ({"gpt-*"}, "gpt-*", "gpt-4o", True),
        ({"gpt-4*"}, "gpt-*", "gpt-4o", True),
        ({"gpt-4o"}, "gpt-*", "gpt-4o", True),
        ({"gpt-4o"}, "gpt-*", "gpt-5", False),
        ({""}, "fast", "gpt-4o", False),
    ],
)
def test_what_a_key_may_use_is_told_by_the_names_that_clients_use(
    allowed: set[str] | None,
    name: str,
    served_as: str,
    may: bool,  # noqa: FBT001
) -> None:
    caller = Caller("k", models=None if allowed is None else frozenset(allowed))

    assert may_use(caller, model(name, served_as=served_as)) is may


def test_asking_for_no_technique_is_always_allowed() -> None:
    assert may_apply(Caller("k", techniques=frozenset()), "none")
    assert not may_apply(Caller("k", techniques=frozenset()), VOTE)
    assert may_apply(OPEN, VOTE)


BUDGETED = Caller("k", budgeted=True)


@pytest.mark.parametrize(
    ("name", "wishes", "whose", "param"),
    [
        ("free", {}, "free", "model"),
        ("claude-opus-5", {}, "claude-opus-5", "model"),
        ("fast", {"fallbacks": ("free",)}, "free", "model"),
        ("fast", {"technique": VOTE, "channels": ("free",)}, "free", "model"),
        ("fast", {"technique": VOTE, "judge": "free"}, "free, the judge,", "x-lockgate-judge"),
        ("fast", {"technique": REFINE, "critic": "free"}, "free, the critic,", "x-lockgate-critic"),
    ],
)
def test_what_cannot_be_counted_is_not_spent_of_a_budget_and_named_by_its_part(
    name: str, wishes: dict[str, Json], whose: str, param: str
) -> None:
    for caller, most in ((BUDGETED, None), (OPEN, Decimal(1))):
        with pytest.raises(RequestRejected) as caught:
            plan(name, caller, max_cost_usd=most, **wishes)

        assert (caught.value.code, caught.value.param) == ("price_unknown", param)
        assert f"The price of {whose} is not known" in caught.value.message


@pytest.mark.parametrize(("caller", "most"), [(BUDGETED, None), (OPEN, Decimal(1))])
def test_a_guess_is_no_price_for_a_budget_unless_the_operator_says_so(
    caller: Caller, most: Decimal | None
) -> None:
    def asked(price: Price) -> Plan:
        catalogue = Catalogue([model("guessed", price=price)])
        planner = Planner(catalogue, CARDS, Defaults())
        return planner.plan(call("guessed"), caller, replace(Wishes(), max_cost_usd=most))

    with pytest.raises(RequestRejected, match="is only guessed") as caught:
        asked(Price(1, 1, source="inferred", firm=False))
    assert caught.value.code == "price_unknown"
    assert asked(Price(1, 1, source="inferred")).model.name == "guessed"


def test_without_a_budget_or_without_a_use_an_unknown_price_stops_nothing() -> None:
    assert plan("free").model.name == "free"
    assert plan("fast", BUDGETED, Defaults(judge="free")).technique == "none"


def test_of_several_caps_the_tightest_holds() -> None:
    caller = Caller("k", caps=Caps(10, 5 * 10**12), deadline_ms=4000)
    defaults = Defaults(caps=Caps(64, None), deadline_ms=9000)

    made = plan(caller=caller, defaults=defaults, max_calls=20, max_cost_usd=Decimal("0.5"))
    assert (made.caps, made.deadline_s) == (Caps(10, 5 * 10**11), 4)

    made = plan(caller=caller, defaults=defaults, max_calls=3, deadline_ms=1500)
    assert (made.caps, made.deadline_s) == (Caps(3, 5 * 10**12), 1.5)

    made = plan(defaults=defaults)
    assert (made.caps, made.deadline_s) == (Caps(64, None), 9)


def test_without_any_deadline_there_is_none() -> None:
    assert plan().deadline_s is None


@pytest.mark.parametrize(
    ("wished", "default", "rescue"),
    [
        (None, True, True),
        (None, False, False),
        ("raise", True, False),
        ("fallback_baseline", False, True),
    ],
)
def test_what_is_done_on_failure_is_the_wish_or_the_configuration(
    wished: str | None,
    default: bool,  # noqa: FBT001
    rescue: bool,  # noqa: FBT001
) -> None:
    wishes: dict[str, Json] = {"on_error": wished} if wished else {}

    assert plan(defaults=Defaults(rescue=default), **wishes).rescue is rescue


def test_a_wish_without_effect_is_a_warning_or_under_strict_an_error() -> None:
    assert plan(ignored=("reuse",)).warnings == (Warned("not_in_effect", "reuse"),)
    with pytest.raises(RequestRejected) as caught:
        plan(ignored=("reuse",), strict=True)
    assert caught.value.param == "x-lockgate-reuse"
    assert plan(strict=True).strict


def test_the_configurations_pool_is_for_calls_that_name_none() -> None:
    defaults = Defaults(channels=("smart", "fast", "sim", "cheap"))

    assert names(plan(technique=VOTE, defaults=defaults).pool) == ["fast", "smart", "cheap"]
    asked = plan(technique=VOTE, defaults=defaults, channels=("org/llama",))
    assert names(asked.pool) == ["fast", "org/llama"]


def test_of_the_configurations_pool_a_caller_gets_what_it_may_use() -> None:
    defaults = Defaults(channels=("smart", "cheap"))

    assert names(plan(caller=LIMITED, technique=VOTE, defaults=defaults).pool) == ["fast"]


@pytest.mark.parametrize(
    ("wishes", "name"),
    [
        ({"judge": "nope"}, "judge"),
        ({"technique": "telepathy"}, "technique"),
        ({"technique": VOTE, "params": {"zebra": 1}}, "params"),
        ({"technique": VOTE, "judge": "free", "max_cost_usd": Decimal(1)}, "judge"),
        ({"ignored": ("reuse",), "strict": True}, "reuse"),
    ],
)
def test_what_is_wrong_with_a_wish_is_told_by_the_field_it_came_in(
    wishes: dict[str, Json], name: str
) -> None:
    for at in (f"x-lockgate-{name}", f"reliability.{name}"):
        with pytest.raises(RequestRejected) as caught:
            plan(said={name: at}, **wishes)

        assert caught.value.param == at


def test_a_technique_of_a_slug_that_a_key_may_not_use_is_the_models_fault() -> None:
    with pytest.raises(Denied) as caught:
        plan(f"{REFINE}/fast", LIMITED)

    assert caught.value.param == "model"


@pytest.mark.parametrize("wishes", [{}, {"technique": VOTE, "channels": ("claude-opus-5",)}])
def test_who_may_not_use_one_of_many_models_is_told_of_the_name_that_was_asked_for(
    wishes: dict[str, Json],
) -> None:
    limited = Caller("k", models=frozenset({"fast", "claude-haiku-5"}))
    name = "fast" if wishes else "claude-opus-5"

    with pytest.raises(Denied, match=r"the model claude-opus-5\.$"):
        plan(name, limited, **wishes)
    with pytest.raises(Denied, match=r"the model claude-opus-5\.$"):
        planner().permitted(f"{VOTE}/claude-opus-5", limited)
