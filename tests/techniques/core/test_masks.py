"""What a technique cannot keep is known from its card and the request, before a call is made."""

from __future__ import annotations

from dataclasses import replace

import pytest

from techniques.core.capabilities import Capabilities
from techniques.core.masks import masked
from techniques.core.registry import COMBINING, MENDING, VOTING, Modality
from techniques.core.request import Request, ResponseFormat, Sampling, ThinkingWish, Tool

PLAIN = Request("m")
MANY = Request("m", sampling=Sampling(n=2))
LOGPROBS = Request("m", sampling=Sampling(logprobs=True))
TOOLS = Request("m", tools=(Tool("look_up"),))
JSON = Request("m", response_format=ResponseFormat("json_object"))
SPOKEN = Request("m", extra={"modalities": ["text", "audio"], "audio": {"voice": "alloy"}})
ABLE = Capabilities()
FIXED = Capabilities(temperature=False)
NEEDS_SPREAD = Modality(fixed="plain")
TEXT_ONLY = Modality(tools="plain", json="plain")
NATIVE = Modality(many="works")


@pytest.mark.parametrize(
    ("modality", "request_", "able", "lost"),
    [
        (VOTING, PLAIN, ABLE, None),
        (VOTING, MANY, ABLE, "n > 1"),
        (NATIVE, MANY, ABLE, None),
        (VOTING, LOGPROBS, ABLE, None),
        (COMBINING, LOGPROBS, ABLE, "logprobs"),
        (MENDING, LOGPROBS, ABLE, "logprobs"),
        (COMBINING, TOOLS, ABLE, None),
        (TEXT_ONLY, TOOLS, ABLE, "tools"),
        (TEXT_ONLY, JSON, ABLE, "response_format"),
        (VOTING, SPOKEN, ABLE, "audio"),
        (NATIVE, SPOKEN, ABLE, "audio"),
        (VOTING, PLAIN, FIXED, None),
        (NEEDS_SPREAD, PLAIN, FIXED, "fixed temperature"),
        (NEEDS_SPREAD, PLAIN, ABLE, None),
        (NEEDS_SPREAD, replace(PLAIN, thinking=ThinkingWish("on")), ABLE, "fixed temperature"),
    ],
)
def test_a_technique_gives_way_to_a_plain_call_for_what_it_cannot_keep(
    modality: Modality, request_: Request, able: Capabilities, lost: str | None
) -> None:
    assert masked(modality, request_, able) == lost
