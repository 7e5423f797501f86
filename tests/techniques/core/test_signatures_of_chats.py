"""What a chat host encrypted is told from other makers' reasoning by its mark."""

from __future__ import annotations

import pytest

from techniques.core.json import Json
from techniques.core.signatures import CHATS, details_of, packed

HIDDEN: list[Json] = [{"type": "reasoning.encrypted", "data": "é+/=", "index": 0}]


def test_details_come_back_as_they_were() -> None:
    assert details_of(packed(HIDDEN)) == HIDDEN


@pytest.mark.parametrize("data", ["", "AAAA", "openai_responses:rs_1:AAAA", "openai_chat"])
def test_what_another_made_is_none(data: str) -> None:
    assert details_of(data) is None


@pytest.mark.parametrize("data", [CHATS, f"{CHATS}!", f"{CHATS}AAAA", f"{CHATS}e30=", f"{CHATS}é"])
def test_what_a_client_broke_is_nothing(data: str) -> None:
    assert details_of(data) == []
