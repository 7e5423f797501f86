"""Any wishes together give an answer, or an error of the client's that names one of them."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from gateway.policy.wishes import TABLE
from techniques.core.json import Json
from tests.fakes.client import strict
from tests.property.examples import Surface

ASKED = {"model": "sim-small", "messages": [{"role": "user", "content": "What is 2 + 2?"}]}
SENSIBLE: dict[str, tuple[str, ...]] = {
    "technique": ("none", "baseline", "self_consistency", "best_of_n", "self_refine", "auto"),
    "params": ("{}", '{"num_samples": 3}', '{"num_samples": -1}', "[]"),
    "channels": ("sim-large", "sim-small, sim-large", "no-such-model"),
    "judge": ("sim-large", "no-such-model"),
    "critic": ("sim-large", "no-such-model"),
    "max-cost-usd": ("0", "0.001", "-1", "1e400"),
    "max-calls": ("1", "2", "50", "0", "x"),
    "deadline-ms": ("60000", "0", "1.5"),
    "on-error": ("fallback_baseline", "raise"),
    "fallbacks": ("sim-large", ",", "no-such-model"),
    "strict": ("0", "1", "maybe"),
    "expose": ("final", "trace", "optimistic", "all"),
    "n-policy": ("native", "rank", "repeat", "many"),
    "usage-mode": ("answer", "total", "none"),
    "lambda": ("0", "1.5", "NaN"),
    "category": ("tax law", ""),
    "explore": ("0", "1", "x"),
    "on-limit": ("hold", "reject"),
    "max-wait-ms": ("0", "100"),
    "priority": ("0", "9", "10"),
    "pin": ("2 + 2", '["a", "b"]', "[]"),
    "reuse": ("off", "on"),
}
OWN = [name for name in TABLE if name != "run"]  # what a run is about was said before
NAMES = st.sampled_from([*OWN, "dry-run", "crystal-ball", "Technique", "max_calls"])
JUNK = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=12)


@st.composite
def wishes(draw: st.DrawFn) -> dict[str, str]:
    """Return headers of ours; most have a value that they allow."""
    names = draw(st.sets(NAMES, min_size=1, max_size=5))
    chosen: dict[str, str] = {}
    for name in sorted(names):
        sensible = st.sampled_from(SENSIBLE.get(name, ("a",)))
        chosen[name] = draw(st.one_of(sensible, sensible, sensible, JUNK))
    return chosen


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
def test_wishes_are_granted_or_named(
    app: TestClient,
    path: Surface,
    streamed: bool,  # noqa: FBT001
) -> None:
    body: Json = {**ASKED, "max_tokens": 200, "stream": streamed}

    @settings(
        max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
    )
    @given(wishes())
    def holds(chosen: dict[str, str]) -> None:
        headers = {f"x-lockgate-{name}": value for name, value in chosen.items()}

        answer = app.post(path, content=orjson.dumps(body), headers=headers)

        if answer.status_code == 200:
            return
        assert 400 <= answer.status_code < 500, answer.text
        error = strict(answer.content)["error"]
        message = error["message"].lower()
        if answer.status_code == 402:  # several caps may meet, so they are named together
            assert "caps" in message
            assert {"max-calls", "max-cost-usd"} & set(chosen)
            return
        if "param" in error:
            assert error["param"] in {name.lower() for name in headers}, error
        names = [name.lower() for name in chosen]
        names += ["option"] if "params" in names else []
        assert any(name in message for name in names), error

    holds()


@pytest.mark.parametrize("name", TABLE)
def test_every_wish_is_read_from_a_header_and_from_the_body_alike(
    app: TestClient, name: str
) -> None:
    wrong = {"params": "{", "run": "", "session": "", "tags": "", "technique": ""}
    value = wrong.get(name, "")
    by_header = app.post("/v1/chat/completions", json=ASKED, headers={f"x-lockgate-{name}": value})
    wish = {name.replace("-", "_"): value}
    by_body = app.post("/v1/chat/completions", json={**ASKED, "reliability": wish})

    assert by_header.status_code == by_body.status_code == 400
    told, asked = by_header.json()["error"], f"reliability.{name.replace('-', '_')}"
    assert told["param"] == f"x-lockgate-{name}"
    same = {**told, "param": asked, "message": told["message"].replace(told["param"], asked)}
    assert by_body.json()["error"] == same
