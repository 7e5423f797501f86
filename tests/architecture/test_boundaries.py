"""Where a failure that nobody expected may be caught, and where tasks may be started."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.architecture.source import MODULES, name_of, tree_of

_LAST_RESORTS = {
    "gateway/surfaces/completion.py": 1,  # a bug costs its own request and no other
    "gateway/surfaces/count_tokens.py": 1,
    "gateway/runs/floor.py": 2,  # a bug costs its own run and no other, in its end too
    "gateway/surfaces/behind.py": 2,  # also where nobody waits for it
    "gateway/stores/journal/sql.py": 2,  # what cannot be written costs its own run and no other
    "gateway/metering/spool.py": 1,  # a meter that fails cannot fail a request
    "gateway/pacing/keeper.py": 1,  # services of the process go on
    "gateway/pacing/recovery.py": 1,
    "gateway/attention/asking.py": 1,
    "gateway/learning/sampler.py": 1,  # a bug in one study does not end the others
    "gateway/reloading.py": 1,
    "gateway/surveying.py": 1,  # what cannot be listed is served all the same
    "gateway/evaluating/command.py": 1,  # a bug is no candidate that is blocked
    "gateway/serving.py": 1,  # a reload that fails costs no worker
    "gateway/doctor/examining.py": 1,  # a check that fails keeps no other from being told
    "gateway/upstream/llama_cpp/host.py": 1,
    "gateway/routing/asking.py": 1,  # a router that fails costs no request
    "gateway/routing/observing.py": 2,  # what was observed, what was said of it: both wait
    "router_service/fitting/fitter.py": 1,  # a fit that fails leaves what is served
    "router_service/groundwork/watched.py": 1,  # a service that died is told, and ends its process
    "router_service/store/learner.py": 1,  # what cannot be learnt must not end who decides
}
"""How many ``except Exception`` each module may have; each logs the traceback."""
_WATCHERS = {"gateway/wire/vigil.py": 1}  # listens for the client's leaving
"""Where a bare task may be started."""


def _catch_alls(tree: ast.AST) -> Iterator[ast.ExceptHandler]:
    """Yield handlers that swallow everything; one that only cleans up raises again at its end."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.ExceptHandler):
            continue
        caught = "BaseException" if node.type is None else ast.unparse(node.type)
        again = any(isinstance(inner, ast.Raise) for inner in node.body)
        if caught == "Exception" or (caught == "BaseException" and not again):
            yield node


def test_unexpected_failures_are_caught_at_the_named_boundaries_only() -> None:
    caught = {name_of(path): list(_catch_alls(tree_of(path))) for path in MODULES}

    assert {name: len(found) for name, found in caught.items() if found} == _LAST_RESORTS
    handlers = (handler for found in caught.values() for handler in found)
    assert all("_log.exception" in ast.unparse(handler) for handler in handlers)


def test_bare_tasks_are_started_in_the_named_place_only() -> None:
    started = {name_of(path): path.read_text("utf-8").count(".create_task(") for path in MODULES}

    assert {name: count for name, count in started.items() if count} == _WATCHERS


def test_the_rule_finds_a_swallowed_failure() -> None:
    swallowed = "try:\n  f()\nexcept BaseException:\n  pass\ntry:\n  f()\nexcept:\n  pass\n"
    cleaned_up = "try:\n  f()\nexcept BaseException:\n  g()\n  raise\n"

    assert len(list(_catch_alls(ast.parse(swallowed)))) == 2
    assert list(_catch_alls(ast.parse(cleaned_up))) == []
