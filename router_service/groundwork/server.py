"""A server that ends when a service that runs beside its requests has died."""

from __future__ import annotations

from typing import Final

import uvicorn

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
