from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.policy.familiar.asked import wishes_of
from gateway.policy.familiar.reading import Found, find
from gateway.policy.familiar.row import Means, Nothing, Refused, ShowsUsage, Tags
from gateway.policy.familiar.rows import FIELDS, TABLE, is_kept
from gateway.policy.familiar.values import APPROACHES
from gateway.policy.wishes import NOTHING, Wishes
from gateway.runs.identity import kept_headers
from techniques import catalog
from techniques.core.errors import RequestRejected
from techniques.core.json import Json
from techniques.core.registry import load


@dataclass(frozen=True, slots=True)
class Names:
    """Knows ``gpt``, ``far`` (at OpenRouter) and those beside."""

    held: bool = False
    beside: tuple[str, ...] = ()

    def has(self, name: str) -> bool:
        return name in ("gpt", "far", *self.beside)

    def takes_over(self, name: str) -> bool:
        return name == "far"


BODY: Mapping[str, Json] = {"model": "gpt", "messages": [{"role": "user", "content": "hi"}]}


def looked(headers: Mapping[str, str], body: Mapping[str, Json], names: Names) -> Found:
    return find(headers, {**BODY, **body}, names)


def asked(
    headers: Mapping[str, str] | None = None,
    body: Mapping[str, Json] | None = None,
    own: Mapping[str, Json] | None = None,
    slug: str | None = None,
) -> Wishes:
    headers = headers or {}
    return wishes_of(headers, own or {}, looked(headers, body or {}, Names()), slug)


def warned(wishes: Wishes) -> list[tuple[str, str]]:
    return [(one.code, one.detail) for one in wishes.warnings]


MEANS: list[tuple[str, Json, Wishes]] = [
    ("x-litellm-timeout", "2.5", Wishes(deadline_ms=2500)),
    ("x-litellm-num-retries", "1", Wishes(retries=1)),
    ("x-litellm-session-id", "s", Wishes(session="s")),
    ("x-litellm-trace-id", "s", Wishes(session="s")),
    ("x-litellm-tags", "a, b", Wishes(tags="a, b")),
    ("x-litellm-spend-logs-metadata", '{"a": 1}', Wishes(tags="a=1")),
    ("helicone-session-id", "s", Wishes(session="s")),
    ("helicone-session-path", "/a", Wishes(tags="session_path=/a")),
    ("helicone-session-name", "n", Wishes(tags="session_name=n")),
    ("helicone-user-id", "u", Wishes(tags="user=u")),
    ("helicone-prompt-id", "p", Wishes(tags="prompt=p")),
    ("helicone-property-app", "x", Wishes(tags="app=x")),
    ("helicone-cache-enabled", "true", Wishes(ignored=("reuse",))),
    ("x-portkey-trace-id", "t", Wishes(session="t")),
    ("x-portkey-metadata", '{"_user": "u", "n": [1]}', Wishes(tags="_user=u, n=[1]")),
    ("x-portkey-request-timeout", "1500", Wishes(deadline_ms=1500)),
    ("x-portkey-cache-force-refresh", "true", Wishes(ignored=("reuse",))),
    ("x-session-id", "s", Wishes(session="s")),
    ("models", ["gpt", "b", "c"], Wishes(fallbacks=("b", "c"))),
    ("provider.require_parameters", True, Wishes(strict=True)),
    ("session_id", "s", Wishes(session="s")),
    ("fallbacks", ["b", {"model": "c"}], Wishes(fallbacks=("b", "c"))),
    ("timeout", 0.2, Wishes(deadline_ms=200)),
    ("num_retries", 0, Wishes(retries=0)),
    ("litellm_session_id", "s", Wishes(session="s")),
    ("litellm_trace_id", "s", Wishes(session="s")),
    ("metadata.tags", ["a", "b"], Wishes(tags="a, b")),
    ("litellm_metadata.tags", ["a"], Wishes(tags="a")),
    ("tags", ["a"], Wishes(tags="a")),
    ("optillm_approach", "moa", Wishes(technique="mixture_of_agents")),
    ("extra_body.optillm_approach", "bon", Wishes(technique="best_of_n")),
]
"""For each spelling that means something: a value, and what is wished for by it."""
TRIED_BELOW = {"x-litellm-stream-timeout", "stream_timeout", "APPROACH-*", "helicone-property-*"}


def nested(name: str, value: Json) -> dict[str, Json]:
    first, dot, inner = name.partition(".")
    return {first: {inner: value}} if dot else {name: value}


def said(name: str, value: Json) -> tuple[dict[str, str], dict[str, Json]]:
    """Return the headers and the fields of a body with *name*."""
    if name.partition(".")[0] in FIELDS:
        return {}, nested(name, value)
    return {name: value}, {}


def test_every_spelling_that_means_something_is_tried_here() -> None:
    meaning = {row.name for row in TABLE if isinstance(row.does, Means | Tags)}

    assert {name for name, _, _ in MEANS} | TRIED_BELOW == meaning | {"helicone-property-app"}


@pytest.mark.parametrize(("name", "value", "meant"), MEANS, ids=[name for name, _, _ in MEANS])
def test_a_familiar_spelling_is_a_wish_and_no_part_of_the_call(
    name: str, value: Json, meant: Wishes
) -> None:
    headers, body = said(name, value)

    found = looked(headers, body, Names())

    assert found.body == BODY
    assert wishes_of(headers, {}, found, None) == meant


@pytest.mark.parametrize(("name", "value", "meant"), MEANS, ids=[name for name, _, _ in MEANS])
def test_our_own_spelling_counts_and_the_warning_names_both(
    name: str, value: Json, meant: Wishes
) -> None:
    wish = next(
        (one.name for one in fields(Wishes) if getattr(meant, one.name) not in (None, (), {})), ""
    )
    own: dict[str, Json] = {
        "fallbacks": ["own"], "strict": False, "deadline_ms": 7, "retries": 9, "ignored": "refresh"
    }  # fmt: skip
    field = "reuse" if wish == "ignored" else wish
    value_of_ours = "read" if field == "reuse" else own.get(field, "own")
    headers, body = said(name, value)

    wishes = asked(headers, body, {field: value_of_ours})

    assert warned(wishes) == [("familiar_overruled", f"{name}: reliability.{field} counts")]
    if field != "reuse":
        expected = tuple(value_of_ours) if isinstance(value_of_ours, list) else value_of_ours
        assert getattr(wishes, field) == expected


@pytest.mark.parametrize("name", ["x-litellm-timeout", "x-portkey-request-timeout", "timeout"])
@pytest.mark.parametrize("value", ["1e308", 1e308, "9" * 300])
def test_no_time_is_beyond_measure(name: str, value: Json) -> None:
    headers, body = said(name, value if name == "timeout" else str(value))

    assert asked(headers, body).deadline_ms == 86_400_000


def test_who_says_the_same_twice_is_not_warned() -> None:
    assert not asked({"x-session-id": "s"}, None, {"session": "s"}).warnings


def test_a_technique_in_the_name_of_the_model_counts() -> None:
    wishes = asked({}, {"optillm_approach": "moa"}, slug="re2")

    assert wishes.technique is None
    assert warned(wishes) == [("familiar_overruled", "optillm_approach: model counts")]


BAD: list[tuple[str, Json]] = [
    *(("x-litellm-timeout", value) for value in ("soon", "0", "-1", "nan", "inf")),
    *(("timeout", value) for value in ("soon", 0, -1, True, [1])),
    *(("num_retries", value) for value in (-1, 1.5, "x", True)),
    *(("models", value) for value in ([1], [""], [{"model": "a", "messages": []}])),
    *(("fallbacks", value) for value in ([{"gpt": ["b"]}], [])),
    *(("optillm_approach", value) for value in ("mcts", "moa&re2", "bon|moa", "", 5)),
    ("provider.require_parameters", "yes"),
    ("x-portkey-request-timeout", "x"),
]


@pytest.mark.parametrize(("name", "value"), BAD)
def test_what_would_change_the_answer_and_means_nothing_is_an_error_that_names_it(
    name: str, value: Json
) -> None:
    with pytest.raises(RequestRejected, match=f"^{name} must be ") as caught:
        asked(*said(name, value))

    assert (caught.value.code, caught.value.param) == ("invalid_wish", name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x-session-id", "x" * 257),
        ("x-portkey-trace-id", ""),
        ("x-portkey-metadata", "{"),
        ("x-portkey-metadata", "[1]"),
        ("helicone-cache-enabled", "maybe"),
        ("session_id", 5),
        ("x-litellm-tags", "x" * 300),
    ],
)
def test_what_only_labels_and_means_nothing_is_left_out_with_a_warning(
    name: str, value: Json
) -> None:
    wishes = asked(*said(name, value))

    assert warned(wishes) == [("familiar_ignored", name)]
    assert (wishes.session, wishes.tags) == (None, None)


REFUSED: list[tuple[str, Json]] = [
    ("provider.data_collection", "deny"),
    ("provider.zdr", True),
    *((name, "x") for name in ("mock_response", "mock_tool_calls", "mock_testing_fallbacks")),
    *((name, "x") for name in ("api_base", "api_key", "base_url")),
]


def test_every_refusal_is_tried_here() -> None:
    refusing = {row.name for row in TABLE if isinstance(row.does, Refused)}

    assert refusing == {name for name, _ in REFUSED}


@pytest.mark.parametrize(("name", "value"), REFUSED)
def test_what_cannot_be_kept_or_granted_is_refused_and_its_value_is_not_told(
    name: str, value: Json
) -> None:
    with pytest.raises(RequestRejected, match=f"^{name} ") as caught:
        asked({}, nested(name, value))

    assert caught.value.param == name


@pytest.mark.parametrize(
    "body", [{"provider": {"data_collection": "allow"}}, {"provider": {"zdr": False}}]
)
def test_what_asks_for_nothing_special_is_taken_away(body: dict[str, Json]) -> None:
    found = looked({}, body, Names())

    assert found.body == BODY
    assert not found.warnings


IGNORED: list[tuple[str, Json]] = [
    ("x-litellm-enable-message-redaction", "true"),
    ("helicone-ratelimit-policy", "10;w=60"),
    ("helicone-target-url", "https://example.com"),
    ("x-portkey-config", "pc-1"),
    ("x-portkey-provider", "@openai"),
    ("provider", {"order": ["openai"]}),
    ("provider", {"allow_fallbacks": False}),
    ("transforms", ["middle-out"]),
    ("plugins", [{"id": "web"}]),
    ("cache", {"no-cache": True}),
    ("guardrails", ["pii"]),
    ("context_window_fallbacks", [{"gpt": ["b"]}]),
    ("content_policy_fallbacks", [{"gpt": ["b"]}]),
]


@pytest.mark.parametrize(("name", "value"), IGNORED)
def test_what_another_gateway_would_have_acted_on_is_named(name: str, value: Json) -> None:
    found = looked(*said(name, value), Names())

    assert [(one.code, one.detail) for one in found.warnings] == [("familiar_ignored", name)]
    assert found.body == BODY


FORGOTTEN: list[tuple[str, Json]] = [
    ("helicone-auth", "Bearer x"),
    ("helicone-request-id", "x"),
    ("helicone-retry-enabled", "true"),
    ("helicone-omit-request", "true"),
    ("x-portkey-api-key", "x"),
    ("x-litellm-api-key", "x"),
    ("http-referer", "https://example.com"),
    ("x-title", "App"),
    ("x-openrouter-title", "App"),
    ("route", "fallback"),
    ("transforms", []),
    ("provider", {"allow_fallbacks": True}),
    ("drop_params", True),
    ("litellm_metadata", {"a": 1}),
]


@pytest.mark.parametrize(("name", "value"), FORGOTTEN)
def test_what_needs_no_answer_leaves_nothing(name: str, value: Json) -> None:
    found = looked(*said(name, value), Names())

    assert found.body == BODY
    assert wishes_of(said(name, value)[0], {}, found, None) is NOTHING


def test_every_spelling_that_has_no_effect_is_tried_here() -> None:
    tried = {name for name, _ in IGNORED + FORGOTTEN}
    for row in TABLE:
        if isinstance(row.does, Nothing) and row.place != "model":
            stem = row.name.removesuffix("*")
            assert any(name.startswith(stem) for name in tried), row.name


FOREIGN: list[dict[str, Json]] = [
    {"provider": "openai"},
    {"tags": "a"},
    {"usage": 1},
    {"metadata": {"tags": "a"}},
    {"metadata": {"user_id": "u"}},
    {"extra_body": {"google": {}}},
    {"fallbacks": "x"},
    {"cache": True},
]


@pytest.mark.parametrize("body", FOREIGN, ids=str)
def test_a_field_of_another_form_is_somebody_elses(body: dict[str, Json]) -> None:
    found = looked({}, body, Names())

    assert found.body == {**BODY, **body}
    assert not found.warnings


@pytest.mark.parametrize("value", [[{"model": "b"}], [{"model": "b", "max_tokens": 9}], []])
@pytest.mark.parametrize("before", ["", "a-2026-01-01,"])
def test_fallbacks_are_anthropics_where_its_beta_is_asked_for(before: str, value: Json) -> None:
    beta = {"anthropic-beta": f"{before}server-side-fallback-2026-07-01"}

    found = looked(beta, {"fallbacks": value, "num_retries": 1}, Names())

    assert found.body == {**BODY, "fallbacks": value}
    assert [one.at for one in found.said] == ["num_retries"]


def test_fallbacks_are_ours_where_another_beta_is_asked_for() -> None:
    found = looked({"anthropic-beta": "a-2026-01-01"}, {"fallbacks": ["b"]}, Names())

    assert found.body == BODY
    assert [one.at for one in found.said] == ["fallbacks"]


def test_other_metadata_stays_with_the_call() -> None:
    found = looked({}, {"metadata": {"tags": ["a"], "order": "7"}}, Names())

    assert found.body == {**BODY, "metadata": {"order": "7"}}


def test_openrouters_own_words_go_to_openrouter() -> None:
    body = {"model": "far", "models": ["x"], "provider": {"zdr": True}, "transforms": []}

    found = looked({}, body, Names())

    assert found.body == {**BODY, **body}
    assert not found.said


def test_a_key_that_is_held_to_models_names_none_elsewhere() -> None:
    found = looked({}, {"model": "far", "models": ["x"]}, Names(held=True))

    assert found.body == {**BODY, "model": "far"}
    assert [one.value for one in found.said] == [["x"]]


def test_the_first_of_a_list_of_models_is_asked_where_none_is_named() -> None:
    found = find({}, {"models": ["gpt", "b"], "messages": []}, Names())

    assert found.body == {"model": "gpt", "messages": []}
    assert [one.value for one in found.said] == [["b"]]


@pytest.mark.parametrize(("streamed", "ms"), [(True, 1000), (False, 9000)])
def test_the_time_for_streams_counts_for_streams_alone(*, streamed: bool, ms: int) -> None:
    body = {"stream": streamed, "timeout": 9, "stream_timeout": 1}
    assert asked({}, body).deadline_ms == ms

    headers = {"x-litellm-timeout": "9", "x-litellm-stream-timeout": "1"}
    assert asked(headers, {"stream": streamed}).deadline_ms == ms


def test_a_stream_tells_its_usage_to_who_asks_as_at_openrouter() -> None:
    assert any(isinstance(row.does, ShowsUsage) for row in TABLE)
    found = looked({}, {"stream": True, "usage": {"include": True}}, Names())

    assert found.body == {**BODY, "stream": True, "stream_options": {"include_usage": True}}


def test_usage_is_told_without_being_asked_for_where_nothing_is_streamed() -> None:
    assert looked({}, {"usage": {"include": True}}, Names()).body == BODY


@pytest.mark.parametrize("suffix", [":nitro", ":floor", ":exacto"])
def test_a_preference_in_a_name_is_left_out_where_no_model_is_called_so(suffix: str) -> None:
    found = looked({}, {"model": f"gpt{suffix}"}, Names())

    assert found.body["model"] == "gpt"
    assert [one.detail for one in found.warnings] == [f"gpt{suffix}"]


@pytest.mark.parametrize("name", ["gpt:nitro", "moa-gpt", "moa&re2-gpt"])
def test_a_model_that_is_called_so_is_asked(name: str) -> None:
    found = looked({}, {"model": name}, Names(beside=(name,)))

    assert found.body["model"] == name
    assert not found.said
    assert not found.warnings


@pytest.mark.parametrize("name", ["gpt:free", "gpt:online", "no:nitro", "moa-no", "x-gpt", "moa"])
def test_a_name_that_would_mean_another_model_is_left_as_it_is(name: str) -> None:
    assert looked({}, {"model": name}, Names()).body["model"] == name


def test_an_approach_before_the_name_of_a_model_is_a_technique() -> None:
    found = looked({}, {"model": "bon-gpt"}, Names())

    assert found.body["model"] == "gpt"
    assert wishes_of({}, {}, found, None) == Wishes(technique="best_of_n")


@pytest.mark.parametrize("name", ["moa&re2-gpt", "bon|moa-gpt"])
def test_several_approaches_before_a_name_are_refused(name: str) -> None:
    with pytest.raises(RequestRejected, match=r"^model must be one approach"):
        looked({}, {"model": name}, Names())


def test_every_approach_that_is_known_is_a_technique_that_there_is() -> None:
    assert set(APPROACHES.values()) <= {*load(catalog), "auto", "none"}


def test_tags_add_up_to_as_much_as_there_is_room_for() -> None:
    headers = {"helicone-user-id": "u", "helicone-property-a": "b\n", "x-litellm-tags": "x" * 250}

    wishes = asked(headers)

    assert wishes.tags == "user=u, a=b?"
    assert warned(wishes) == [("familiar_ignored", "helicone-user-id")]


def test_credentials_of_other_gateways_are_not_kept_with_a_run() -> None:
    for name in ("helicone-auth", "x-portkey-api-key", "x-portkey-virtual-key", "authorization"):
        assert not is_kept(name)
    said = {"x-litellm-timeout": "5", "helicone-property-app": "x"}
    assert kept_headers({**said, "helicone-auth": "secret", "x-title": "App"}) == said


_INTEGERS = st.integers(-(2**63), 2**64 - 1)
"""Those that a body can have: of larger ones its reader makes fractions."""
_JSON = st.recursive(
    st.none() | st.booleans() | _INTEGERS | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
_NAMES = [*sorted(FIELDS), "model", "stream", "stream_options", "messages"]


@given(
    st.dictionaries(st.sampled_from([row.name for row in TABLE]), st.text(max_size=9)),
    st.dictionaries(st.sampled_from(_NAMES), _JSON),
)
def test_whatever_is_said_it_is_read_or_refused(
    headers: dict[str, str], body: dict[str, Json]
) -> None:
    with suppress(RequestRejected):
        found = find(headers, body, Names())

        assert wishes_of(headers, {}, found, None).tags != ""
