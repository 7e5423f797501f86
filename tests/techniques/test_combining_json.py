from __future__ import annotations

import json
from dataclasses import replace

import pytest

from techniques.core.errors import UpstreamFailed
from techniques.core.request import Request, ResponseFormat
from techniques.phases.combining import Combining
from tests.techniques.drafts import SEA, combine, drawn
from tests.techniques.scene import Answer, shown

JSON = replace(
    SEA,
    response_format=ResponseFormat(
        "json_schema",
        {
            "type": "object",
            "properties": {
                "deep": {"type": "boolean"},
                "salt": {"type": "boolean"},
                "summary": {"type": "string"},
            },
            "required": ["deep"],
        },
        strict=True,
    ),
)
ANEW = Combining(guard="cheap", json=True)
TWO = [json.dumps({"deep": True, "salt": salt}) for salt in (True, False)]


async def test_json_is_voted_on_by_what_it_decides() -> None:
    texts = [
        json.dumps({"deep": deep, "summary": "s" * place})
        for place, deep in enumerate((True, False, False))
    ]
    played = await combine(drawn(*texts, request=JSON), request=JSON)
    assert played.text == texts[1]
    assert not played.asked


async def test_json_without_a_majority_is_the_one_most_like_the_others() -> None:
    texts = [
        json.dumps(value)
        for value in ({"deep": True}, {"deep": False, "salt": False}, {"deep": False, "salt": True})
    ]
    texts.insert(1, json.dumps({"deep": True, "salt": True}))
    played = await combine(drawn(*texts, request=JSON), request=JSON)
    assert played.text == texts[1]


async def test_json_is_written_anew_where_that_is_wanted() -> None:
    new = json.dumps({"deep": True, "salt": True, "summary": "deep"})
    played = await combine(drawn(*TWO, request=JSON), new, JSON, ANEW)
    assert played.text == new
    assert played.asked[0].response_format == JSON.response_format


async def test_json_that_breaks_its_form_is_mended_once() -> None:
    new = json.dumps({"deep": False})

    def written(request: Request) -> Answer:
        return new if request.step == "s0r" else '{"salt": true}'

    played = await combine(drawn(*TWO, request=JSON), written, JSON, ANEW)
    assert played.text == new
    assert '"deep" is a required property' in shown(played.asked[1])


@pytest.mark.parametrize("broken", ['{"salt": true}', UpstreamFailed("down")])
async def test_json_that_stays_broken_is_replaced_by_the_best(broken: Answer) -> None:

    def written(request: Request) -> Answer:
        return broken if request.step == "s0r" else "no JSON"

    played = await combine(drawn(*TWO, request=JSON), written, JSON, replace(ANEW, guard="off"))
    assert played.text == TWO[0]
    assert len(played.asked) == 2
