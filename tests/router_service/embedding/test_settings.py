from __future__ import annotations

import pytest
from pydantic import ValidationError

from router_service.embedding.encoders import encoder_of
from router_service.embedding.settings import EmbeddingSettings
from router_service.embedding.unusable import Unusable

UPSTREAM = {"kind": "upstream", "url": "https://api.example.com/v1", "model": "m"}


def test_what_needs_no_setting_up_is_the_default() -> None:
    assert encoder_of(EmbeddingSettings()).name.startswith("mixed:")


@pytest.mark.parametrize(
    "stated",
    [
        {"kind": "upstream"},
        {"kind": "upstream", "url": "https://api.example.com/v1"},
        {"kind": "upstream", "model": "m"},
        {**UPSTREAM, "url": "ftp://api.example.com"},
        {**UPSTREAM, "url": "api.example.com/v1"},
        {**UPSTREAM, "folder": "/models"},
        {"kind": "static", "url": "https://api.example.com/v1"},
        {"kind": "hashed", "folder": "/models"},
        {"kind": "word2vec"},
        {"characters": 3},
        {"characters": 10**9},
        {"remembered": -1},
        {**UPSTREAM, "timeout_s": 0},
        {**UPSTREAM, "dimensions": 5000},
        {"colour": "red"},
    ],
)
def test_what_does_not_fit_together_is_refused(stated: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        EmbeddingSettings.model_validate(stated)


def test_a_key_is_not_shown() -> None:
    settings = EmbeddingSettings.model_validate({**UPSTREAM, "api_key": "sk-secret"})
    assert "sk-secret" not in repr(settings)


def test_an_upstream_without_anything_to_call_it_with_cannot_be_had() -> None:
    with pytest.raises(Unusable):
        encoder_of(EmbeddingSettings.model_validate(UPSTREAM))
