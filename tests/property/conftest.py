"""The application in this process, over the simulation, for tests that ask it much."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import structlog
from starlette.testclient import TestClient

from gateway.app import App
from gateway.config import Config, Secrets
from gateway.config.embedded import embedded
from gateway.wiring import running


@pytest.fixture(scope="session")
def app() -> Iterator[TestClient]:
    config = Config.model_validate({**embedded({}), "database": {"url": "none"}})
    # a traceback as structlog shows it to a person takes seconds
    structlog.configure(
        processors=[structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    )
    served = App(lambda: running(config, Secrets(None, None)))
    with TestClient(served, base_url="http://127.0.0.1") as client:
        yield client
    structlog.reset_defaults()
