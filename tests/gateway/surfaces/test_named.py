from __future__ import annotations

import re

from gateway.surfaces import named


def test_names_of_requests_are_unlike_and_grow_with_the_time() -> None:
    names = [named.new_name() for _ in range(1000)]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[0-9a-f]{32}", name) for name in names)
    times = [name[:12] for name in names]
    assert times == sorted(times)
