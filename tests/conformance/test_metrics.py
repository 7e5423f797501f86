"""What is counted, under which names."""

from __future__ import annotations

import os
import re
import signal
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.conformance.stage import CHAT, REQUESTS, Stage, chat
from tests.fakes import script
from tests.fakes.client import Exchange, request
from tests.fakes.gateway import KEYS
from tests.fakes.script import Wait, begin, sse, text
from tests.patience import eventually

SECONDS = "gen_ai_server_request_duration_seconds_count"


@pytest.mark.case("MET-01")
def test_made_up_names_make_no_series(stage: Stage) -> None:
    stage.upstream.chooses(lambda _asked: script.completion())
    stage.chat()
    stage.post(CHAT, chat(model="no-such-model"))
    before = stage.metrics()

    for _ in range(120):
        odd = f"odd{uuid.uuid4().hex}"
        headers = {"user-agent": odd, "x-lockgate-session": odd, "x-lockgate-tags": odd}
        stage.post(CHAT, chat(model=odd, user=odd), headers=headers)
        stage.post(f"/v1/{odd}", {})
        stage.post(CHAT, chat(user=odd), key=None, headers={"authorization": f"Bearer {odd}"})
    stage.uncounted()
    stage.received.clear()  # thousands of look-ups in the ledger would prove nothing here

    after = stage.metrics()
    assert len(after) - len(before) < 50
    assert not [line for line in after if "odd" in line]


@pytest.mark.case("MET-03")
@pytest.mark.gateway({"server": {"workers": 2}})
def test_every_scrape_sees_the_counts_of_every_worker(stage: Stage) -> None:
    stage.upstream.chooses(lambda _asked: script.completion())
    stage.uncounted()
    before = stage.total(REQUESTS)
    content = request(CHAT, script.dumps(chat()), {"authorization": f"Bearer {KEYS['k1']}"})

    with ThreadPoolExecutor(8) as pool:
        answers = pool.map(lambda _: Exchange(stage.gateway.port, content).whole(), range(60))
        assert {answer.status for answer in answers} == {200}

    assert eventually(lambda: stage.total(REQUESTS) - before == 60)
    assert [stage.total(REQUESTS) - before for _ in range(10)] == [60] * 10

    workers = stage.gateway.workers()
    os.kill(workers[0], signal.SIGKILL)
    assert eventually(lambda: stage.gateway.workers()[-2:] not in (workers, workers[1:]))
    assert eventually(stage.gateway.ready)
    assert [stage.total(REQUESTS) - before for _ in range(10)] == [60] * 10


@pytest.mark.gateway({"server": {"workers": 2}})
def test_several_workers_are_one_page_of_openmetrics_too(stage: Stage) -> None:
    stage.upstream.chooses(lambda _asked: script.completion())
    stage.chat()
    accepts = {"accept": "application/openmetrics-text; version=1.0.0"}

    whole = Exchange(stage.gateway.port, request("/metrics", None, accepts, "GET")).whole()

    page = whole.body.decode()
    assert whole.headers["content-type"].startswith("application/openmetrics-text")
    assert page.endswith("# EOF\n")
    assert " # {" not in page  # examples are of one process only
    names = re.findall(r"^# TYPE (\S+)", page, re.MULTILINE)
    assert len(names) == len(set(names)) > 30


@pytest.mark.case("MET-04")
def test_a_stream_that_breaks_is_no_success(stage: Stage) -> None:
    stage.upstream.plays(sse(begin(), text("Riv"), Wait(0.02), end="reset"))
    before = stage.total(REQUESTS), stage.total(REQUESTS, outcome="success")
    slow = stage.total(SECONDS, error_type="truncated")

    assert stage.chat_stream().errors

    assert eventually(lambda: stage.total(REQUESTS) == before[0] + 1)
    assert stage.total(REQUESTS, outcome="success") == before[1]
    assert stage.total(REQUESTS, outcome="truncated") >= 1
    assert stage.total(SECONDS, error_type="truncated") == slow + 1
