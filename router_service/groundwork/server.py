"""The server of a process, which ends when a service that runs beside its requests has died."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Final

import uvicorn

from router_service.groundwork.protocol import Protocol

if TYPE_CHECKING:
    from starlette.types import ASGIApp

BACKLOG: Final = 4096
"""How many connections may wait to be accepted; the kernel may allow fewer."""
DIED: Final = 1
"""The exit code of a process one of whose services died: whoever started it is to start another."""
SWITCH_S: Final = 0.0005
"""How long what learns in a thread keeps the interpreter: a decision waits for it several times."""


class Server(uvicorn.Server):
    """As uvicorn's, which would go on answering without what it needs."""

    @property
    def died(self) -> bool:
        """Whether what was opened for the requests has ended by an error, and not by being told."""
        return self.started and bool(getattr(self.lifespan, "error_occurred", False))

    async def on_tick(self, counter: int) -> bool:
        """Stop where it has."""
        self.should_exit |= self.died
        return await super().on_tick(counter)


def uvicorn_settings(application: ASGIApp, idle_s: float, close_s: int) -> uvicorn.Config:
    """Return how *application* is served.

    A connection stays open for *idle_s* seconds between two requests. uvicorn's own five are fewer
    than clients and balancers count on, and who sends on a connection that is just being closed
    gets no answer. What was cut off has *close_s* seconds to close.
    """
    return uvicorn.Config(
        application,
        loop="auto",
        http=Protocol,
        log_config=None,
        ws="none",
        proxy_headers=False,
        date_header=False,
        lifespan="on",
        access_log=False,
        log_level="warning",
        backlog=BACKLOG,
        server_header=False,
        timeout_keep_alive=ceil(idle_s),
        timeout_graceful_shutdown=close_s,
    )
