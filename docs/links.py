"""Finds links between the documents that lead nowhere: ``python -m docs.links``.

Only links inside the project are followed: to a file, and to a heading in it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from docs.generate import ROOT, documents

_LINK: Final = re.compile(r"\]\(([^)\s]+)\)")
_HEADING: Final = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
_FENCE: Final = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def anchors(text: str) -> set[str]:
    """Return what links to the headings of *text* look like."""
    headings = _HEADING.findall(_FENCE.sub("", text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def dead(page: Path) -> Iterator[str]:
    """Yield the links of *page* that lead nowhere."""
    for link in _LINK.findall(_FENCE.sub("", page.read_text("utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        if not target.exists() or (anchor and anchor not in anchors(target.read_text("utf-8"))):
            yield link


def main() -> int:
    """Name every dead link; return 1 if there is one."""
    found = [f"{page.relative_to(ROOT)}: {link}\n" for page in documents() for link in dead(page)]
    sys.stderr.writelines(found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
