"""How a process of the project serves HTTP."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette

from router_service.groundwork.server import uvicorn_settings


@pytest.mark.parametrize(("idle_s", "kept_s"), [(75.0, 75), (1.2, 2)])
def test_an_idle_connection_is_kept_for_no_less_than_was_asked_for(
    idle_s: float, kept_s: int
) -> None:
    assert uvicorn_settings(Starlette(), idle_s, 2).timeout_keep_alive == kept_s
