"""Every technique, for every special request, through both SDKs, streamed and whole."""

from __future__ import annotations

import json
from typing import Final

import openai
import pytest

from techniques import catalog
from techniques.core.json import Json
from techniques.core.registry import load
from tests.e2e.conftest import Scene
from tests.e2e.special import SPECIAL, Given, Special, of_chat, of_message
from tests.techniques.scene import needed

CARDS: Final = load(catalog)
MODELS: Final = {"x-lockgate-channels": "sim-large", "x-lockgate-judge": "sim-large"}
every_cell = pytest.mark.parametrize(
    ("technique", "special"), [(card, special) for card in CARDS for special in SPECIAL]
)


def wanting(technique: str, **more: str) -> dict[str, str]:
    params = json.dumps(needed(CARDS[technique]))
    return {"x-lockgate-technique": technique, "x-lockgate-params": params, **MODELS, **more}


def is_plain(technique: str, special: Special) -> bool:
    """Whether the table in the documents says that a plain call gives the answer."""
    return getattr(CARDS[technique].traits.modality, special.cell or "tools") == "plain" and bool(
        special.cell
    )


def chat(scene: Scene, technique: str, fields: dict[str, Json], *, streamed: bool) -> Given:
    asked = {"model": "sim-small", "extra_headers": wanting(technique), **fields}
    if not streamed:
        return of_chat(scene.chat.chat.completions.create(**asked))
    with scene.chat.chat.completions.stream(**asked) as stream:
        return of_chat(stream.get_final_completion())


def messages(scene: Scene, technique: str, fields: dict[str, Json], *, streamed: bool) -> Given:
    asked = {"model": "sim-small", "max_tokens": 2000, **fields}
    asked["extra_headers"] = wanting(technique)
    if not streamed:
        return of_message(scene.messages.messages.create(**asked))
    with scene.messages.messages.stream(**asked) as stream:
        return of_message(stream.get_final_message())


@every_cell
def test_what_a_request_asks_for_is_kept(scene: Scene, technique: str, special: str) -> None:
    asked = SPECIAL[special]

    for streamed in (False, True):
        assert asked.good(chat(scene, technique, asked.chat, streamed=streamed))
        if asked.messages is not None:
            assert asked.good(messages(scene, technique, asked.messages, streamed=streamed))


@every_cell
def test_a_technique_that_gives_way_says_so_and_no_other_does(
    scene: Scene, technique: str, special: str
) -> None:
    asked = SPECIAL[special]
    raw = scene.chat.chat.completions.with_raw_response.create(
        model="sim-small", extra_headers=wanting(technique), **asked.chat
    )

    plain = is_plain(technique, asked)
    assert ("technique_masked" in raw.headers.get("x-lockgate-warnings", "")) == plain
    assert (raw.headers.get("x-lockgate-technique") == CARDS[technique].name) != plain


@pytest.mark.parametrize(
    ("technique", "special"),
    [(card, name) for card in CARDS for name, asked in SPECIAL.items() if is_plain(card, asked)],
)
def test_a_strict_caller_is_refused_instead(scene: Scene, technique: str, special: str) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        scene.chat.chat.completions.create(
            model="sim-small",
            extra_headers=wanting(technique, **{"x-lockgate-strict": "1"}),
            **SPECIAL[special].chat,
        )

    assert caught.value.code == "technique_masked"
