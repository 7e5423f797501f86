"""``python -m router_service``: the router as a process of its own."""

from __future__ import annotations

from router_service.command import commands

if __name__ == "__main__":
    commands()
