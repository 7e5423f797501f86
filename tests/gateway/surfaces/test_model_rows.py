"""Models are listed as both vendors do, and Anthropic's pages are walked as its SDK walks them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.surfaces.model_rows import anthropic_page, openai_list, openai_row
from pricing.price import Price
from techniques.core.capabilities import Capabilities
from techniques.core.errors import RequestRejected
from tests.gateway.planning.scene import model

MODELS = [model(name) for name in ("a", "b", "org/c", "d", "e")]
NAMES = [one.name for one in MODELS]


def ids(page: dict[str, object]) -> list[str]:
    data = page["data"]
    assert isinstance(data, list)
    return [row["id"] for row in data]


def test_all_are_listed_where_no_limit_is_stated() -> None:
    page = anthropic_page(MODELS, {})

    assert ids(page) == NAMES
    assert (page["has_more"], page["first_id"], page["last_id"]) == (False, "a", "e")


@given(st.integers(1, 7), st.booleans())
def test_pages_walked_either_way_have_every_model_once(limit: int, forwards: bool) -> None:  # noqa: FBT001
    seen: list[str] = []
    query = {"limit": str(limit)}
    if not forwards:
        query["before_id"] = "e"
        seen = ["e"]
    while True:
        page = anthropic_page(MODELS, query)
        seen = [*seen, *ids(page)] if forwards else [*ids(page), *seen]
        assert len(ids(page)) <= limit
        if not page["has_more"]:
            break
        at = ("after_id", "last_id") if forwards else ("before_id", "first_id")
        query[at[0]] = str(page[at[1]])

    assert seen == NAMES


def test_what_comes_after_the_last_is_nothing() -> None:
    page = anthropic_page(MODELS, {"after_id": "e"})

    assert page == {"data": [], "has_more": False, "first_id": None, "last_id": None}


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ({"limit": "0"}, "limit"),
        ({"limit": "1001"}, "limit"),
        ({"limit": "-1"}, "limit"),
        ({"limit": "x"}, "limit"),
        ({"limit": "9" * 40}, "limit"),
        ({"limit": "000000001" + "9" * 5000}, "limit"),
        ({"limit": "²"}, "limit"),
        ({"after_id": "no-such"}, "after_id"),
        ({"before_id": "no-such"}, "before_id"),
        ({"before_id": "a", "after_id": "b"}, "before_id"),
    ],
)
def test_a_wrong_parameter_is_named(query: dict[str, str], param: str) -> None:
    with pytest.raises(RequestRejected) as raised:
        anthropic_page(MODELS, query)

    assert raised.value.param == param


def test_a_row_tells_what_is_known_and_nothing_else() -> None:
    bare = model("m", price=None)
    known = model("m", price=Price(100_000, 2_500_000))
    target = replace(known.target, capabilities=Capabilities(context=8192))
    known = replace(
        known, max_output=512, channel=replace(known.channel, target=target), fallbacks=()
    )

    assert openai_row(bare) == {"id": "m", "object": "model", "created": 0, "owned_by": "openai"}
    assert openai_row(known) == openai_row(bare) | {
        "context_length": 8192,
        "max_output_tokens": 512,
        "pricing": {"prompt": "0.0000001", "completion": "0.0000025"},
    }


def test_openais_list_has_no_pages() -> None:
    told = openai_list(MODELS)

    assert told.keys() == {"object", "data"}
    assert ids(told) == NAMES
