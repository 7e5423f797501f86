"""``/admin/reload``: what a file says holds at once, or nothing changes."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import orjson
import pytest

from gateway.app import App
from gateway.config import Secrets, load
from gateway.policy.keys import digest
from gateway.reloading import Reloader
from gateway.wiring import running
from techniques.core.json import Json
from tests.gateway.surfaces.test_operations import MODELS, OPEN, PROVIDERS, Answer, Running, chat

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])

SECRETS = Secrets("s", "admin")


@dataclass
class Scene:
    """A gateway that serves a file, which can be written anew."""

    gateway: Running
    file: Path
    reloader: Reloader

    def write(self, **sections: Json) -> None:
        usual = {"providers": PROVIDERS, "models": MODELS, "database": {"url": "none"}}
        self.file.write_bytes(orjson.dumps({**usual, **sections}))

    async def reload(self, **sections: Json) -> Answer:
        self.write(**sections)
        return await self.gateway.ask("/admin/reload", OPEN, method="POST")

    async def told(self) -> Json:
        return (await self.gateway.ask("/admin/reload", OPEN)).json

    async def metrics(self) -> dict[str, float]:
        text = (await self.gateway.ask("/metrics")).body.decode()
        lines = [line.rpartition(" ") for line in text.splitlines() if "lockgate_config" in line]
        return {name: float(value) for name, _, value in lines if not name.startswith("#")}


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncGenerator[Scene, None]:
    async with serving(tmp_path) as made:
        yield made


@asynccontextmanager
async def serving(folder: Path, **sections: Json) -> AsyncGenerator[Scene, None]:
    file = folder / "lockgate.yaml"
    made = Scene(Running(App(lambda: running(load(file), SECRETS))), file, _none())
    made.write(**sections)
    made.reloader = Reloader(file, SECRETS, lambda: running(load(file), SECRETS))
    app = App(made.reloader.opened, made.reloader)
    made.reloader.show = app.show
    made.gateway = Running(app)
    async with app._running(app._lifespan):
        yield made


def _none() -> Reloader:
    return Reloader(None, SECRETS, lambda: running(load(None), SECRETS))


async def test_models_come_go_and_are_priced_anew(scene: Scene) -> None:
    small: Json = MODELS[0]
    dearer = {**small, "price": {"input": 0, "output": 0, "per_request": "0.5"}}
    new = {"name": "new", "provider": "sim", "model": "sim-large"}

    before = await scene.gateway.ask("/v1/chat/completions", body=chat())
    done = await scene.reload(models=[dearer, new])
    after = await scene.gateway.ask("/v1/chat/completions", body=chat())
    gone = await scene.gateway.ask("/v1/chat/completions", body=chat("large"))
    there = await scene.gateway.ask("/v1/chat/completions", body=chat("new"))

    assert (done.status, done.json["outcome"], done.json["epoch"]) == (200, "applied", 2)
    assert done.json["changed"] == [
        "models.small.price.per_request",
        "models.large",
        "models.sim-*",
        "models.new",
    ]
    assert before.headers["x-lockgate-cost-usd"] == "0.25"
    assert after.headers["x-lockgate-cost-usd"] == "0.5"
    assert (gone.status, there.status) == (404, 200)
    listed = await scene.gateway.ask("/v1/models")
    assert [row["id"] for row in listed.json["data"]] == ["small", "new"]


async def test_keys_come_and_go(scene: Scene) -> None:
    def key(name: str) -> dict[str, Json]:
        return {"name": name, "hash": digest("s", f"text-{name}"), "models": ["small"]}

    async def status(name: str) -> int:
        sent = {"x-api-key": f"text-{name}"}
        return (await scene.gateway.ask("/v1/chat/completions", sent, chat())).status

    assert await status("a") == 200
    await scene.reload(keys=[key("a")])
    assert [await status("a"), await status("b")] == [200, 401]
    await scene.reload(keys=[key("b")])
    assert [await status("a"), await status("b")] == [401, 200]
    door = scene.reloader._now.parts.house.lasting.kept.door
    assert door.named("b") is not None
    assert door.named("a") is None


async def test_a_gateway_that_wants_keys_is_not_opened_by_a_file_without(scene: Scene) -> None:
    """One whose end is not written yet has none."""
    await scene.reload(keys=[{"name": "a", "hash": digest("s", "text-a")}])
    refused = await scene.reload()
    answer = await scene.gateway.ask("/v1/chat/completions", body=chat())

    assert (refused.status, answer.status) == (422, 401)
    assert [line.partition(":")[0] for line in refused.json["errors"]] == ["keys"]


@pytest.mark.parametrize(
    "text",
    ["server: {host: 2026-13-45}", "server: " + "[" * 5000, "server: &a {host: *a}", "a: [*b", "-"],
)
async def test_a_file_that_is_no_configuration_at_all_changes_nothing(
    scene: Scene, text: str
) -> None:
    scene.file.write_text(text)
    refused = await scene.gateway.ask("/admin/reload", OPEN, method="POST")
    counted = await scene.metrics()

    assert refused.status == 422
    assert counted["lockgate_config_last_reload_successful"] == 0
    assert (await scene.gateway.ask("/v1/chat/completions", body=chat())).status == 200


@pytest.mark.parametrize(
    ("sections", "error"),
    [
        ({"models": [{"name": "x"}]}, "models.0.provider: is missing"),
        ({"models": []}, "models: there is none"),
        ({"modles": []}, "modles: there is no such setting"),
        ({"reliability": {"judge": "nobody"}}, "reliability.judge: there is no model 'nobody'"),
        ({"reliability": {"default": "zap"}}, "reliability.default: there is no technique 'zap'"),
        ({"reliability": {"calibration": "gone.json"}}, "reliability.calibration: "),
        ({"providers": {"sim": {"dialect": "x"}}}, "providers.sim.dialect: must be"),
    ],
)
async def test_a_file_that_is_not_fit_changes_nothing(
    scene: Scene, sections: dict[str, Json], error: str
) -> None:
    refused = await scene.reload(**sections)
    answer = await scene.gateway.ask("/v1/chat/completions", body=chat())
    counted = await scene.metrics()

    assert refused.status == 422
    assert refused.json["error"]["code"] == "invalid_configuration"
    assert any(line.startswith(error) for line in refused.json["errors"]), refused.json
    assert (refused.json["outcome"], refused.json["epoch"]) == ("refused", 1)
    assert answer.status == 200
    assert (await scene.told())["errors"] == refused.json["errors"]
    assert counted['lockgate_config_reloads_total{outcome="refused"}'] == 1
    assert counted["lockgate_config_last_reload_successful"] == 0


async def test_a_file_that_is_gone_or_is_no_yaml_changes_nothing(scene: Scene) -> None:
    for spoil in (lambda: scene.file.write_text("{"), scene.file.unlink):
        spoil()
        refused = await scene.gateway.ask("/admin/reload", OPEN, method="POST")
        assert (refused.status, (await scene.told())["epoch"]) == (422, 1)

    assert (await scene.reload(upstream={"retries": 0})).json["epoch"] == 2
    assert (await scene.told())["errors"] == []


async def test_what_wants_a_restart_is_named_and_left_and_the_rest_holds(scene: Scene) -> None:
    done = await scene.reload(
        server={"port": 1, "max_body": 10}, store={"redis": "redis://nowhere:1"}
    )
    large = await scene.gateway.ask("/v1/chat/completions", body=chat())

    assert done.json["needs_restart"] == ["server.port", "store.redis"]
    assert done.json["changed"] == ["server.max_body"]
    assert large.status == 413
    assert (await scene.told())["needs_restart"] == ["server.port", "store.redis"]


async def test_a_file_that_says_the_same_is_no_other_configuration(scene: Scene) -> None:
    done = await scene.reload()

    assert (done.json["outcome"], done.json["epoch"]) == ("unchanged", 1)
    assert (await scene.metrics())['lockgate_config_reloads_total{outcome="unchanged"}'] == 1


async def test_what_was_measured_anew_holds_although_its_file_is_called_the_same(
    scene: Scene,
) -> None:
    def measured(right: int) -> None:
        graded = {"right": right, "of": 10, "accuracy": right / 10}
        told = {"models": {"small": {"accuracy": {"number": graded}}}}
        (scene.file.parent / "c.json").write_bytes(orjson.dumps(told))

    measured(9)
    await scene.reload(reliability={"calibration": "c.json"})
    measured(5)
    done = await scene.reload(reliability={"calibration": "c.json"})
    again = await scene.reload(reliability={"calibration": "c.json"})

    assert [done.json["outcome"], again.json["outcome"]] == ["applied", "unchanged"]


async def test_which_configuration_is_served_is_a_metric(scene: Scene) -> None:
    before = await scene.metrics()
    done = await scene.reload(upstream={"retries": 0})
    after = await scene.metrics()

    assert (before["lockgate_config_epoch"], after["lockgate_config_epoch"]) == (1, 2)
    assert after["lockgate_config_hash"] == int(done.json["hash"], 16)
    assert before["lockgate_config_hash"] != after["lockgate_config_hash"]
    assert before["lockgate_config_last_reload_successful"] == 1


async def test_a_new_model_is_in_the_metrics_before_it_is_asked_for(scene: Scene) -> None:
    await scene.reload(models=[{"name": "fresh", "provider": "sim"}])
    text = (await scene.gateway.ask("/metrics")).body.decode()

    for name in ("lockgate_requests_total", "lockgate_upstream_429_total", "lockgate_suspensions"):
        assert any(
            'model="fresh"' in line and line.endswith(" 0.0")
            for line in text.splitlines()
            if line.startswith(name)
        ), name


async def test_it_is_the_admins_alone(scene: Scene) -> None:
    for method in ("GET", "POST"):
        assert (await scene.gateway.ask("/admin/reload", method=method)).status == 401


async def test_a_request_keeps_the_configuration_that_it_began_with(tmp_path: Path) -> None:
    slow = {"sim": {"dialect": "openai_chat", "simulated": {"seed": 0, "speed": 20}}}
    answers: list[Answer] = []

    async def ask() -> None:
        headers = {"x-lockgate-technique": "self_refine"}
        answers.append(await there.gateway.ask("/v1/chat/completions", headers, chat()))

    async with serving(tmp_path, providers=slow) as there:
        gate = there.gateway.app.gate
        assert gate is not None
        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            while not gate.inside:  # noqa: ASYNC110 - what is counted is no event
                await anyio.sleep(0.001)
            done = await there.reload(models=[MODELS[1]], providers=PROVIDERS)
            was_under_way = gate.inside == 1
        again = await there.gateway.ask("/v1/chat/completions", body=chat())

    assert was_under_way
    assert done.json["outcome"] == "applied"
    (answer,) = answers
    assert answer.status == 200
    assert int(answer.headers["x-lockgate-calls"]) > 1
    assert again.status == 404


async def test_several_that_are_told_at_once_reload_one_after_the_other(scene: Scene) -> None:
    scene.write(upstream={"retries": 0})
    outcomes: list[str] = []

    async def reload() -> None:
        outcomes.append((await scene.reloader.reload()).outcome)

    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(reload)

    assert sorted(outcomes) == ["applied", *["unchanged"] * 4]


async def test_a_secret_that_was_exchanged_in_its_file_holds(scene: Scene) -> None:
    file = scene.file.parent / "token"
    file.write_text("old")
    await scene.reload(metrics={"token": "file:token"})
    file.write_text("new")
    done = await scene.reload(metrics={"token": "file:token"})

    async def status(token: str) -> int:
        return (await scene.gateway.ask("/metrics", {"authorization": f"Bearer {token}"})).status

    assert done.json["changed"] == ["metrics.token"]
    assert [await status("old"), await status("new")] == [401, 200]


async def test_beside_a_database_keys_of_both_hold_and_are_listed(tmp_path: Path) -> None:
    def row(name: str) -> dict[str, Json]:
        return {"name": name, "hash": digest("s", f"text-{name}")}

    database = {"url": f"sqlite:///{tmp_path}/x.db"}
    new = {"name": "new", "provider": "sim"}
    async with serving(tmp_path, database=database, keys=[row("a")]) as there:
        made = await there.gateway.ask("/admin/keys", OPEN, {"name": "own"})
        await there.reload(database=database, keys=[row("b")], models=[*MODELS, new])
        listed = await there.gateway.ask("/admin/keys", OPEN)
        statuses = [
            (await there.gateway.ask("/v1/models", {"x-api-key": key})).status
            for key in ("text-a", "text-b", made.json["key"])
        ]
        held = await there.gateway.ask("/admin/keys/own", OPEN, {"models": ["new"]}, "PATCH")

    assert statuses == [401, 200, 200]
    assert [key["name"] for key in listed.json["keys"]] == ["b", "own"]
    assert held.json["models"] == ["new"]


async def test_limits_on_tools_and_keys_that_come_by_a_reload_hold(scene: Scene) -> None:
    tools = {"tools": {"web": {"calls": 1, "period": "1h"}}}
    key = {"name": "a", "hash": digest("s", "text-a"), "rpm": 1}
    await scene.reload(pacing={"mode": "off"}, tool_quota=tools, keys=[key])
    sent = {"x-api-key": "text-a"}

    acquired = [
        (await scene.gateway.ask("/v1/tools/web/acquire", sent, {})).status for _ in range(2)
    ]
    called = [
        (await scene.gateway.ask("/v1/chat/completions", sent, chat())).status for _ in range(2)
    ]

    assert acquired == [200, 429]
    assert called == [200, 429]


async def test_prices_that_were_changed_in_their_file_hold(scene: Scene) -> None:
    real = {"oa": {"dialect": "openai_chat", "base_url": "https://api.openai.com/v1"}}
    sections: dict[str, Json] = {
        "providers": real,
        "models": [{"name": "m", "provider": "oa"}],
        "pricing": {"prices": str(scene.file.parent / "prices.json")},
    }

    async def priced(rate: int) -> tuple[str, int | None]:
        rows = [{"provider": "openai", "model": "m", "input": rate, "output": rate}]
        (scene.file.parent / "prices.json").write_bytes(orjson.dumps(rows))
        done = await scene.reload(**sections)
        price = scene.reloader._now.parts.catalogue.find("m").price
        return done.json["outcome"], None if price is None else price.input

    assert await priced(2) == ("applied", 2_000_000)
    assert await priced(3) == ("applied", 3_000_000)
    assert await priced(3) == ("unchanged", 3_000_000)


async def test_a_price_list_that_has_gone_wrong_changes_nothing(scene: Scene) -> None:
    (scene.file.parent / "prices.json").write_text('{"rows": 7}')
    done = await scene.reload(pricing={"prices": str(scene.file.parent / "prices.json")})

    assert done.status == 422
    assert done.json["errors"][0].startswith("pricing.prices")
