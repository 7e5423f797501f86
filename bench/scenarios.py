"""What is measured: requests, load, and what one run of them says."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson

from bench.rig import HERE, LOAD_CORE, Call, CannotMeasure, Server, pinned
from techniques.core.json import JsonObject

KEY: Final = "bench-key"
_CHAT: Final = "/v1/chat/completions"
_MESSAGES: Final = "/v1/messages"
_EMBEDDINGS: Final = "/v1/embeddings"
_RESPONSES: Final = "/v1/responses"
_QUESTION: Final = (
    "What is the capital of France, and since when has it been the capital? Be brief."
)
_COUNTED: Final = (
    "For about how many thousand years has Paris been the capital of France? Be brief."
)
_RULE: Final = "You are a helpful assistant who answers in one or two sentences."
EMBED_MODEL: Final = "bench-embed-n16"
"""The mock upstream answers it with sixteen vectors."""
_INPUTS: Final = 16
MODELS: Final = ("bench", "bench-d60", "bench-n50-g20", "bench-n200-g0")
"""The mock upstream reads delay, deltas and gap from the name of a model."""
RESPONSES_MODEL: Final = "bench-rs-n50-g20"
"""One that the gateway has from a provider of the Responses API."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A load. ``deltas`` is how many each stream has, 0 when answers are not streamed."""

    name: str
    call: Call
    connections: int
    requests: int
    deltas: int = 0
    stagger_ms: int = 0
    abort_every: int = 0
    abort_after: int = 1
    rate: int = 0


@dataclass(frozen=True, slots=True)
class Figures:
    """What one run of a scenario says of one server. Times are in microseconds.

    ``cpu_us`` is the server's CPU per answered request, ``cpu_delta_us`` per delta; both are None
    of the upstream itself. ``waited`` is for how long the server was ready but had no core,
    as a share of its CPU: a disturbed run shows there.
    """

    cpu_us: float | None
    cpu_delta_us: float | None
    waited: float
    rps: float
    latency_p50: int
    latency_p95: int
    latency_p99: int
    first_chunk_p50: int
    first_chunk_p99: int
    delta_delay_p50: int
    delta_delay_p99: int
    deltas_per_s: float
    errors: int
    cut: int
    seconds: float


def chat(model: str = "bench", *, streamed: bool = False, size: int = 0) -> Call:
    """Return an OpenAI call of about 300 bytes, or of *size* bytes."""
    body: dict[str, object] = {
        "model": model,
        "messages": [
            {"role": "system", "content": _RULE},
            {"role": "user", "content": _padded(size)},
        ],
        "temperature": 0.2,
        "max_tokens": 256,
    }
    if streamed:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    return Call(_CHAT, orjson.dumps(body), (("authorization", f"Bearer {KEY}"),))


def voted(draws: int, model: str = "bench") -> Call:
    """Return a call of which *draws* draws, an odd number from 3 on, decide the answer.

    All draws of the mock upstream are alike, so just more than half of the most that are allowed
    are made: three at first, the others at once after them.
    """
    body = orjson.loads(chat(model).body)
    body["messages"][-1]["content"] = _COUNTED
    plain = Call(_CHAT, orjson.dumps(body), chat(model).headers)
    options = orjson.dumps({"num_samples": 2 * draws - 1, "stop": "exact"}).decode()
    wishes = (("x-lockgate-technique", "self_consistency"), ("x-lockgate-params", options))
    return Call(plain.path, plain.body, (*plain.headers, *wishes))


def messages(model: str, *, streamed: bool = False) -> Call:
    """Return the same call in the Anthropic dialect."""
    body: dict[str, object] = {
        "model": model,
        "system": _RULE,
        "messages": [{"role": "user", "content": _QUESTION}],
        "max_tokens": 256,
    }
    if streamed:
        body["stream"] = True
    headers = (("x-api-key", KEY), ("anthropic-version", "2023-06-01"))
    return Call(_MESSAGES, orjson.dumps(body), headers)


def responses(model: str, *, streamed: bool = False) -> Call:
    """Return the same call in the dialect of OpenAI's Responses API."""
    body: dict[str, object] = {
        "model": model,
        "instructions": _RULE,
        "input": _QUESTION,
        "temperature": 0.2,
        "max_output_tokens": 256,
    }
    if streamed:
        body["stream"] = True
    return Call(_RESPONSES, orjson.dumps(body), (("authorization", f"Bearer {KEY}"),))


def embeddings() -> Call:
    """Return a call for sixteen embeddings, in base64 as the SDK asks for them."""
    texts = [f"{place}. {_QUESTION}" for place in range(_INPUTS)]
    body = {"model": EMBED_MODEL, "input": texts, "encoding_format": "base64"}
    return Call(_EMBEDDINGS, orjson.dumps(body), (("authorization", f"Bearer {KEY}"),))


def _padded(size: int) -> str:
    pieces = [_QUESTION]
    length = len(_QUESTION) + 200
    while length < size:
        pieces.append(f'{len(pieces)}. As a table says: "{length}", with\ttabs and\nlines.')
        length += len(pieces[-1]) + 5
    return " ".join(pieces)


def measure(scenario: Scenario, server: Server) -> Figures:
    """Run *scenario* against *server*."""
    cpu, waited = server.cpu_s(), server.waited_s()
    said = load(scenario, server.port)
    cpu, waited = server.cpu_s() - cpu, server.waited_s() - waited
    own = server.name != "upstream"
    answered, deltas = max(said["ok"] + said["cut"], 1), said["deltas"]
    latency, first, delay = (
        said[name] for name in ("latency_us", "first_chunk_us", "delta_delay_us")
    )
    return Figures(
        cpu_us=cpu / answered * 1e6 if own else None,
        cpu_delta_us=cpu / deltas * 1e6 if own and deltas else None,
        waited=waited / cpu if cpu else 0.0,
        rps=said["rps"],
        latency_p50=latency["p50"],
        latency_p95=latency["p95"],
        latency_p99=latency["p99"],
        first_chunk_p50=first["p50"],
        first_chunk_p99=first["p99"],
        delta_delay_p50=delay["p50"],
        delta_delay_p99=delay["p99"],
        deltas_per_s=said["deltas_per_s"],
        errors=said["errors"] + said["non_200"],
        cut=said["cut"],
        seconds=said["seconds"],
    )


def load(scenario: Scenario, port: int) -> JsonObject:
    """Return what the load generator says of *scenario*, sent to *port*."""
    with tempfile.NamedTemporaryFile() as body:
        Path(body.name).write_bytes(scenario.call.body)
        command = [
            *(str(HERE / "build" / "load"), "--url"),
            *(f"http://127.0.0.1:{port}{scenario.call.path}", "-d", body.name),
            *("-c", str(scenario.connections), "-n", str(scenario.requests)),
        ]
        for name, value in scenario.call.headers:
            command += ["-H", f"{name}: {value}"]
        if scenario.deltas:
            command += ["--stream", "--deltas", str(scenario.deltas)]
        if scenario.stagger_ms:
            command += ["--stagger-ms", str(scenario.stagger_ms)]
        if scenario.rate:
            command += ["--rate", str(scenario.rate)]
        if scenario.abort_every:
            command += ["--abort-every", str(scenario.abort_every)]
            command += ["--abort-after", str(scenario.abort_after)]
        run = subprocess.run(pinned(command, LOAD_CORE), capture_output=True, check=False)
    if run.returncode:
        raise CannotMeasure(f"The load generator failed: {run.stderr.decode(errors='replace')}")
    said: JsonObject = orjson.loads(run.stdout)
    return said
