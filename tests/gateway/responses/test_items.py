from __future__ import annotations

from itertools import count

import pytest

from gateway.responses.items import kept_input, references, resolved, sent_again, shown, weight
from techniques.core.json import Json


def numbered() -> Json:
    numbers = count()
    return lambda kind: f"{kind}-{next(numbers)}"


def part(text: str, kind: str = "input_text") -> Json:
    more: dict[str, Json] = {"annotations": []} if kind == "output_text" else {}
    return {"type": kind, "text": text, **more}


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Hi", [("user", [part("Hi")])]),
        ([{"role": "user", "content": "Hi"}], [("user", [part("Hi")])]),
        (
            [{"role": "assistant", "content": "Yes"}, {"role": "developer", "content": "Brief."}],
            [("assistant", [part("Yes", "output_text")]), ("developer", [part("Brief.")])],
        ),
        ([{"type": "message", "role": "user", "content": [part("a")]}], [("user", [part("a")])]),
    ],
)
def test_messages_are_kept_in_one_form(said: Json, kept: Json) -> None:
    items = kept_input(said, numbered())
    assert [(item["role"], item["content"]) for item in items] == kept
    assert [item["id"] for item in items] == [f"message-{place}" for place in range(len(kept))]
    assert {(item["type"], item["status"]) for item in items} == {("message", "completed")}


def test_other_items_are_kept_as_they_came_and_their_ids_too() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "id": "fc_1"}
    result = {"type": "function_call_output", "call_id": "c", "output": "1"}
    odd = {"type": "web_search_call", "id": "ws_1", "status": "completed"}

    kept = kept_input([call, result, odd, "no item"], numbered())

    assert kept == [call, {**result, "id": "function_call_output-0"}, odd]


def test_nothing_is_kept_of_what_is_no_input() -> None:
    assert kept_input(None) == kept_input(7) == kept_input([]) == []


def test_items_are_sent_again_without_names_that_a_provider_does_not_know() -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"}
    message = {"type": "message", "id": "m", "status": "completed", "role": "user", "content": []}
    odd = {"type": "web_search_call", "id": "ws_1", "status": "completed"}

    assert sent_again([thought, message, odd]) == [
        {"type": "reasoning", "summary": [], "encrypted_content": "e"},
        {"type": "message", "role": "user", "content": []},
        odd,
    ]


def test_an_item_that_is_referred_to_takes_the_place_of_its_reference() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "id": "fc_1"}
    said = [
        {"role": "user", "content": "Hi"},
        {"type": "item_reference", "id": "fc_1"},
        {"id": "fc_1"},
        {"type": "item_reference", "id": "fc_2"},
    ]

    assert references(said) == ["fc_1", "fc_1", "fc_2"]
    unnamed = {name: value for name, value in call.items() if name != "id"}
    assert resolved(said, {"fc_1": call}) == [said[0], unnamed, unnamed, said[3]]
    assert resolved("Hi", {"fc_1": call}) == "Hi"
    assert references("Hi") == []


@pytest.mark.parametrize("kind", [["x"], {"a": 1}, 5, None, True])
def test_an_item_whose_type_is_no_text_stays_as_it_came(kind: Json) -> None:
    item = {"type": kind, "id": "i", "content": "x"}
    assert kept_input([item]) == [item if kind else {**item, "type": ""}]
    assert sent_again([item]) == [item]
    assert len(kept_input([{"type": kind}])) == 1


def test_items_weigh_what_they_come_to_where_they_stand_often() -> None:
    items = {"a": {"id": "a"}, "b": {"id": "b", "x": "y" * 100}}
    assert weight(items, {"a": 3, "b": 1}) == 3 * 10 + 10 + 107


def test_an_item_is_shown_with_what_its_client_left_out() -> None:
    call = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{}"}
    image = {"type": "input_image", "image_url": "https://a.test/b.png"}
    result = {"type": "function_call_output", "id": "fco_1", "call_id": "c", "output": [image, 7]}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text"}]}

    assert shown(call) == {**call, "status": "completed"}
    assert shown({**call, "status": "incomplete"})["status"] == "incomplete"
    assert shown(result)["output"] == [{**image, "detail": "auto"}, 7]
    assert shown({**result, "output": "1"})["output"] == "1"
    assert shown(said) == {**said, "content": [{"type": "output_text", "annotations": []}]}


def test_an_item_that_nobody_knows_is_shown_as_it_came() -> None:
    for item in ({"type": "web_search_call", "id": "ws_1"}, {"type": ["x"]}, {"id": "i"}):
        assert shown(item) == item
    thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    assert shown(thought) == thought
