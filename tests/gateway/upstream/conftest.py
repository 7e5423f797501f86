"""A scripted provider on a real socket, one for each module."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.fakes.upstream import ScriptedUpstream


@pytest.fixture(scope="module")
def server() -> Generator[ScriptedUpstream, None, None]:
    with ScriptedUpstream() as upstream:
        yield upstream


@pytest.fixture
def upstream(server: ScriptedUpstream) -> ScriptedUpstream:
    server.forget()
    return server
