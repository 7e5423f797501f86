"""``python -m router_service``: the router as a process of its own."""

from __future__ import annotations

import typer

from router_service.command import serve

if __name__ == "__main__":
    typer.run(serve)
