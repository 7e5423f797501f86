"""Lets requests in until the gateway is told to stop, and knows when the last has left."""

from __future__ import annotations

from techniques.core.errors import Unavailable


class Gate:
    """Counts who is inside.

    Attributes:
        closing: No one is let in any more; who is inside may finish.
        inside: Requests being served.
    """

    def __init__(self) -> None:
        self.closing = False
        self.inside = 0

    def enter(self) -> None:
        """Let one request in.

        Raises:
            Unavailable: The gateway is stopping.
        """
        if self.closing:
            raise Unavailable("The gateway is stopping; send the request again.")
        self.inside += 1

    def leave(self) -> None:
        """Let one request out."""
        self.inside -= 1
