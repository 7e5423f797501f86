"""Writes the dashboards for Grafana: ``python -m docs.dashboards --write|--check``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import orjson

from docs.dashboards import health, money, overview, pacing, router, techniques
from docs.dashboards.panels import Dashboard

FOLDER: Final = Path(__file__).parents[2] / "deploy" / "grafana" / "dashboards"
PAGES: Final[tuple[Dashboard, ...]] = (
    overview.PAGE,
    techniques.PAGE,
    pacing.PAGE,
    money.PAGE,
    router.PAGE,
    health.PAGE,
)


def written(page: Dashboard) -> bytes:
    """Return the file of *page*."""
    return orjson.dumps(page.json(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def main(arguments: Sequence[str]) -> int:
    """Write the files, or tell which are old."""
    old = [
        file
        for page in PAGES
        if not (file := FOLDER / f"{page.uid.removeprefix('lockgate-')}.json").exists()
        or file.read_bytes() != written(page)
    ]
    known = {f"{page.uid.removeprefix('lockgate-')}.json": page for page in PAGES}
    if "--write" in arguments:
        for file in old:
            file.write_bytes(written(known[file.name]))
        return 0
    for file in old:
        sys.stderr.write(f"{file.name} is old: python -m docs.dashboards --write\n")
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
