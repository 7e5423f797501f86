from __future__ import annotations

import os
import re

from gateway.surfaces import named


def test_names_of_requests_are_unlike_and_grow_with_the_time() -> None:
    names = [named.new_name() for _ in range(1000)]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[0-9a-f]{32}", name) for name in names)
    times = [name[:12] for name in names]
    assert times == sorted(times)


def test_a_process_that_was_forked_draws_names_of_its_own() -> None:
    named.new_name()
    there, here = os.pipe()
    if not (child := os.fork()):
        os.write(here, named.new_name()[12:].encode())
        os._exit(0)
    os.waitpid(child, 0)

    assert os.read(there, 64).decode() not in {named.new_name()[12:] for _ in range(1000)}
    os.close(there)
    os.close(here)
