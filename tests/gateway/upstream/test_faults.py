"""Whether a provider says that it has no such model, and not a client."""

from __future__ import annotations

import pytest

from gateway.upstream.faults import lacks_model
from techniques.core.errors import Said


@pytest.mark.parametrize(
    "said",
    [
        Said(404, "The model `x` does not exist, or", "invalid_request_error", "model_not_found"),
        Said(404, "The model `x` does not exist.", "NotFoundError"),
        Said(404, "model: claude-x", "not_found_error"),
        Said(404, "model 'x' not found"),
        Said(404, "No endpoints found for x."),
        Said(404, "The requested model is not here."),
        Said(410, "Model x is retired."),
        Said(404, "The API deployment does not exist.", None, "DeploymentNotFound"),
        Said(400, "It was taken away.", "invalid_request_error", "model_decommissioned"),
        Said(400, "Invalid model: x", "invalid_model"),
    ],
)
def test_its_own_word_is_believed(said: Said) -> None:
    assert lacks_model(said)


_ECHO = "unknown model 'x' does not exist, model not found"


@pytest.mark.parametrize(
    "said",
    [
        Said(),
        Said(400, f"Invalid value: '{_ECHO}'.", "invalid_request_error", "invalid_value"),
        Said(400, f"{_ECHO}"),
        Said(404, f"Item with id '{_ECHO}' not found."),
        Said(404, f"Container not found: {_ECHO}", "not_found_error"),
        Said(404, f"Model of '{_ECHO}'?", None, "previous_response_not_found"),
        Said(404, "Modelling clay is not here."),
        Said(500, "The model does not exist."),
    ],
)
def test_what_a_client_can_have_it_say_is_not(said: Said) -> None:
    assert not lacks_model(said)
