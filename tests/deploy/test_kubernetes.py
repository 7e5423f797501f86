"""What is deployed to Kubernetes fits its schemas, the strictest profile, and the gateway."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from docs import generate
from gateway.cli import main
from gateway.config import load
from router_service.process.config import load as load_router
from techniques.core.json import Json
from tests.deploy.files import KUBERNETES, ROOT, read, variables

CONFIG = f"{KUBERNETES}/lockgate.yaml"
ROUTER = f"{KUBERNETES}/router.yaml"
APART = {
    *("kustomization.yaml", "lockgate.yaml", "podmonitor.yaml", "prometheus-adapter.yaml"),
    *("router.yaml", "router-podmonitor.yaml"),
}
RESOURCES = list(read(f"{KUBERNETES}/kustomization.yaml")["resources"])
LABELS = {
    "": {"app.kubernetes.io/name": "lockgate"},
    "router-": {"app.kubernetes.io/name": "lockgate-router"},
}
VERSIONS = ("1.29", "1.32", "1.36")
GIVEN = {
    "OPENAI_API_KEY": "some-secret",
    "ANTHROPIC_API_KEY": "some-secret",
    "LOCKGATE_REDIS_URL": "rediss://user:password@redis.example.com:6379/0",
    "LOCKGATE_DATABASE_URL": "postgresql://lockgate:password@db.example.com/lockgate",
    "LOCKGATE_METRICS_TOKEN": "some-token",
    "LOCKGATE_ROUTER_TOKEN": "some-token",
}
PARTS = {"": CONFIG, "router-": ROUTER}
"""What the resources of the gateway, and of the router, begin with; and the configuration."""


def resource(name: str) -> Json:
    return read(f"{KUBERNETES}/{name}.yaml")


@pytest.fixture(params=PARTS)
def part(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def pod(part: str) -> Json:
    return resource(f"{part}deployment")["spec"]["template"]["spec"]


@pytest.fixture
def container(pod: Json) -> Json:
    (only,) = pod["containers"]
    return only


def _valid(document: Json, version: str) -> None:
    validator = pytest.importorskip("kubernetes_validate", reason="make deploy-tools")
    validator.validate(document, version, strict=True)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", RESOURCES)
def test_a_resource_fits_its_schema(name: str, version: str) -> None:
    _valid(read(f"{KUBERNETES}/{name}"), version)


def test_a_field_that_there_is_not_is_found() -> None:
    wrong = resource("deployment")
    wrong["spec"]["template"]["spec"]["gracePeriod"] = 5

    validator = pytest.importorskip("kubernetes_validate", reason="make deploy-tools")
    with pytest.raises(validator.ValidationError, match="gracePeriod"):
        validator.validate(wrong, VERSIONS[-1], strict=True)


def test_what_kustomize_makes_of_it_is_valid_too() -> None:
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("kubectl is not installed")
    told = subprocess.run(
        [kubectl, "kustomize", str(ROOT / KUBERNETES)], capture_output=True, text=True, check=True
    )
    made = list(yaml.safe_load_all(told.stdout))
    configs = {one["metadata"]["name"] for one in made if one["kind"] == "ConfigMap"}
    pods = [one["spec"]["template"]["spec"] for one in made if one["kind"] == "Deployment"]
    mounted = [
        volume["configMap"]["name"]
        for it in pods
        for volume in it["volumes"]
        if "configMap" in volume
    ]

    assert len(made) == len(RESOURCES) + len(PARTS)
    assert len(pods) == len(PARTS)
    assert sorted(mounted) == sorted(configs)
    assert all(":" in it["containers"][0]["image"] for it in pods)
    for document in made:
        _valid(document, VERSIONS[-1])


def test_every_file_is_taken_up_or_told_to_be_apart() -> None:
    found = {path.name for path in (ROOT / KUBERNETES).iterdir()}

    assert found == {*RESOURCES, *APART}


def test_every_selector_selects_the_same_pods(part: str) -> None:
    deployment = resource(f"{part}deployment")["spec"]
    spread = deployment["template"]["spec"]["topologySpreadConstraints"]

    assert deployment["template"]["metadata"]["labels"] == LABELS[part]
    assert [
        deployment["selector"]["matchLabels"],
        *(one["labelSelector"]["matchLabels"] for one in spread),
        resource(f"{part}service")["spec"]["selector"],
        resource(f"{part}poddisruptionbudget")["spec"]["selector"]["matchLabels"],
        resource(f"{part}networkpolicy")["spec"]["podSelector"]["matchLabels"],
        resource(f"{part}podmonitor")["spec"]["selector"]["matchLabels"],
    ] == [LABELS[part]] * 6


def test_a_pod_keeps_to_the_strictest_profile(pod: Json, container: Json) -> None:
    rights = container["securityContext"]

    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert rights["allowPrivilegeEscalation"] is False
    assert rights["readOnlyRootFilesystem"] is True
    assert rights["capabilities"] == {"drop": ["ALL"]}
    assert not pod.keys() & {"hostNetwork", "hostPID", "hostIPC"}
    assert pod["automountServiceAccountToken"] is False


def test_the_user_is_that_of_the_image(pod: Json) -> None:
    context = pod["securityContext"]

    assert f"USER {context['runAsUser']}:{context['runAsGroup']}\n" in (
        ROOT / "Dockerfile"
    ).read_text("utf-8")


def test_variables_of_services_are_not_taken_for_settings(pod: Json) -> None:
    assert pod["enableServiceLinks"] is False


def test_a_pod_has_the_time_to_drain(part: str, pod: Json, container: Json) -> None:
    _, waits = container["lifecycle"]["preStop"]["exec"]["command"]
    drain = float(read(PARTS[part])["server"]["drain_s"])

    assert pod["terminationGracePeriodSeconds"] >= float(waits) + drain + 5


def test_probes_and_services_find_the_port(part: str, container: Json) -> None:
    (port,) = container["ports"]
    (served,) = resource(f"{part}service")["spec"]["ports"]
    probes = {
        kind: container[f"{kind}Probe"]["httpGet"] for kind in ("startup", "readiness", "liveness")
    }

    assert port["containerPort"] == read(PARTS[part])["server"]["port"]
    assert served["targetPort"] == port["name"]
    assert {probe["port"] for probe in probes.values()} == {port["name"]}
    assert {kind: probe["path"] for kind, probe in probes.items()} == {
        "startup": "/healthz",
        "readiness": "/readyz",
        "liveness": "/healthz",
    }


def test_the_autoscaler_asks_for_a_metric_that_there_is_and_that_the_adapter_gives() -> None:
    wanted = [
        one["pods"]["metric"]["name"]
        for one in resource("horizontalpodautoscaler")["spec"]["metrics"]
        if one["type"] == "Pods"
    ]
    (rule,) = resource("prometheus-adapter")["rules"]["custom"]

    assert wanted
    assert all(f"| `{name}` | gauge |" in generate.metrics() for name in wanted)
    assert all(rule["seriesQuery"].startswith(name) for name in wanted)


def test_who_scales_says_how_many_there_are_and_an_outage_leaves_some() -> None:
    scaler = resource("horizontalpodautoscaler")["spec"]

    assert "replicas" not in resource("deployment")["spec"]
    assert scaler["scaleTargetRef"]["name"] == resource("deployment")["metadata"]["name"]
    assert scaler["minReplicas"] > resource("poddisruptionbudget")["spec"]["maxUnavailable"]


def test_the_configuration_passes_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {**GIVEN, "LOCKGATE_KEY_SECRET": "secret", "LOCKGATE_ADMIN_TOKEN": "token"}

    told = CliRunner().invoke(main, ["check", str(ROOT / CONFIG)], env=environment)

    assert told.exit_code == 0, told.output
    assert "no price" not in told.output
    assert "not in effect" not in told.output
    for name, value in GIVEN.items():
        monkeypatch.setenv(name, value)
    loaded = load(Path(ROOT / CONFIG))
    assert loaded.database.url.startswith("postgresql")
    assert loaded.store.redis is not None


def test_every_secret_is_told_of() -> None:
    told = (ROOT / "docs/deploy.md").read_text("utf-8")

    assert variables(CONFIG).keys() == GIVEN.keys()
    assert variables(ROUTER).keys() <= GIVEN.keys()
    assert [name for name in GIVEN if f"--from-literal={name}=" not in told] == []


def test_the_router_is_asked_where_it_is_and_let_in_who_asks() -> None:
    stated = read(CONFIG)["router"]
    rules = resource("networkpolicy")["spec"]["egress"]
    (out,) = (one for one in rules if one.get("to", [{}])[0].get("podSelector"))
    (into,) = resource("router-networkpolicy")["spec"]["ingress"]

    assert stated["url"] == f"http://{resource('router-service')['metadata']['name']}"
    assert out["to"] == [{"podSelector": {"matchLabels": LABELS["router-"]}}]
    assert out["ports"] == [{"protocol": "TCP", "port": read(ROUTER)["server"]["port"]}]
    assert {"podSelector": {"matchLabels": LABELS[""]}} in into["from"]


def test_the_router_gets_no_secret_but_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    (container,) = resource("router-deployment")["spec"]["template"]["spec"]["containers"]
    given = {one["name"] for one in container["env"]}
    for name in given:
        monkeypatch.setenv(name, GIVEN[name])

    loaded = load_router(Path(ROOT / ROUTER))

    assert "envFrom" not in container
    assert given == {*variables(ROUTER), "LOCKGATE_ROUTER_TOKEN"}
    assert loaded.server.token is not None
    assert loaded.server.metrics_token is not None
