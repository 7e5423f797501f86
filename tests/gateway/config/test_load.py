from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pytest

from gateway.config import Config, ConfigError, hand_down, handed_down, load, secrets

KEYED = "providers: {oa: {dialect: openai_chat, base_url: https://a.example/v1, api_key: %s}}\n"
MODEL = "models: [{name: m, provider: oa}]\n"


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take out whatever the environment of the tests would add to a configuration."""
    for name in list(os.environ):
        if name.startswith(("LOCKGATE_", "OPENAI_", "ANTHROPIC_")):
            monkeypatch.delenv(name)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "lockgate.yaml"


def loaded(file: Path, text: str) -> Config:
    file.write_text(text)
    return load(file)


def problems(file: Path, text: str) -> list[str]:
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(file)
    return str(caught.value).splitlines()


def test_an_empty_file_is_all_defaults(file: Path) -> None:
    config = loaded(file, "")

    assert config.model_dump() == Config().model_dump()
    assert (config.server.host, config.server.port) == ("127.0.0.1", 8080)
    assert config.reliability.default == "none"


def test_units_are_read(file: Path) -> None:
    config = loaded(
        file,
        "server: {max_body: 5MiB, keepalive_s: 250ms, drain_s: 1m}\n"
        "upstream: {connect_s: 1.5s, first_byte_s: 1h, idle_s: 90, max_wait_s: 0}\n",
    )

    assert config.server.max_body == 5 * 2**20
    assert (config.server.keepalive_s, config.server.drain_s) == (0.25, 60)
    assert (config.upstream.connect_s, config.upstream.first_byte_s) == (1.5, 3600)
    assert (config.upstream.idle_s, config.upstream.max_wait_s) == (90, 0)


@pytest.mark.parametrize(
    ("text", "bytes_"),
    [("1000", 1000), ("2KB", 2000), ("1.5KiB", 1536), ("1 GB", 10**9), ("'512 b'", 512)],
)
def test_sizes_are_bytes(file: Path, text: str, bytes_: int) -> None:
    assert loaded(file, f"server: {{max_body: {text}}}").server.max_body == bytes_


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("server: {prot: 1}", "server.prot"),
        ("servr: {}", "servr"),
        ("server: {port: 70000}", "server.port"),
        ("server: {port: many}", "server.port"),
        ("server: {max_body: 5 miles}", "server.max_body"),
        ("server: {keepalive_s: -1}", "server.keepalive_s"),
        ("server: {drain_s: 1fortnight}", "server.drain_s"),
        ("upstream: {retries: 11}", "upstream.retries"),
        ("models: [{name: m}]", "models.0.provider"),
        ("models: [{name: '', provider: p}]", "models.0.name"),
        ("models: [{name: m, provider: p, model: 'x*'}]", "models.0"),
        ("models: [{name: 'm*', provider: p, model: 'x*y'}]", "models.0"),
        ("keys: [{name: k, hash: 'sk-plain'}]", "keys.0.hash"),
        ("providers: {x: {dialect: smoke, base_url: 'https://a.example'}}", "providers.x.dialect"),
        ("reliability: {on_error: shrug}", "reliability.on_error"),
        ("router: {lambda: -1}", "router.lambda"),
        ("upstream: {proxy: 'https://p:3128'}", "upstream.proxy"),
        ("upstream: {proxy: 'p:3128'}", "upstream.proxy"),
        ("upstream: {proxy: none}", "upstream.proxy"),
        ("upstream: {proxy: 'http://p:3128/path'}", "upstream.proxy"),
        ("upstream: {proxy: 'http://p:port'}", "upstream.proxy"),
        ("upstream: {proxy: 'http://me:pass@p:3128'}", "upstream.proxy"),
    ],
)
def test_each_fault_is_named_by_its_path(file: Path, text: str, path: str) -> None:
    (line,) = problems(file, text)

    assert line.startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("model_list: []", "model_list: it is a setting of LiteLLM's: `lockgate import litellm"),
        ("models: {a: {provider: p}}", "models: must be a list"),
        (
            "providers: {x: {base_url: 'https://a.example/v1'}}",
            "providers.x.dialect: is missing; it is one of openai_chat, openai_responses, anth",
        ),
    ],
)
def test_what_is_often_wrong_is_told_with_what_is_right(file: Path, text: str, told: str) -> None:
    assert problems(file, text)[0].startswith(told)


def test_all_faults_are_told_at_once(file: Path) -> None:
    lines = problems(file, "server: {port: -1, prot: 2}\nrouter: {type: dice}\n")

    assert sorted(line.partition(":")[0] for line in lines) == [
        "router.type",
        "server.port",
        "server.prot",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1, 2]", "must be a mapping"),
        ("server: {", "lockgate.yaml"),
        ("server: {port: 1}\nserver: {port: 2}\n", "'server' stands twice"),
        ("models: [{name: a, name: b, provider: p}]", "'name' stands twice"),
    ],
)
def test_a_file_that_is_no_plain_mapping_is_refused(file: Path, text: str, said: str) -> None:
    assert said in "\n".join(problems(file, text))


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{of}'] * 9)}]\n" for of, name in pairwise("abcdefghij")
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("server: {host: 2026-13-45}", "this cannot be read as timestamp"),
        ("server: {host: !!timestamp x}", "this cannot be read as timestamp"),
        ("server: {port: !!int x}", "this cannot be read as int"),
        ("server: {port: " + "9" * 5000 + "}", "this cannot be read as int"),
        ("server: {port: !!bool x}", "this cannot be read as bool"),
        ("server: {port: !!float x}", "this cannot be read as float"),
        ("server: " + "[" * 5000 + "]" * 5000, "nested too deeply"),
        ("server: &a {host: *a}", "within what it names"),
        ("server: &a [[*a]]", "within what it names"),
        (BOMB, "make more of it than can be read"),
    ],
)
def test_whatever_stands_in_a_file_is_one_readable_line(file: Path, text: str, said: str) -> None:
    (line,) = problems(file, text)

    assert str(file) in line
    assert said in line


def test_an_anchor_may_be_used_as_often_as_one_likes(file: Path) -> None:
    text = "models:\n  - &m {name: a, provider: p, price: &c {input: 1, output: 2}}\n" + "".join(
        f"  - {{<<: *m, name: m{number}}}\n" for number in range(50)
    )
    config = loaded(file, text + "providers: {p: {dialect: openai_chat, simulated: {seed: 0}}}")

    assert {str(model.price) for model in config.models} == {str(config.models[0].price)}


def test_a_secret_file_that_is_no_text_is_named(file: Path) -> None:
    (file.parent / "key").write_bytes(b"\xff\xfe")

    assert "providers.oa.api_key" in problems(file, KEYED % "file:key" + MODEL)[0]


def test_merge_keys_may_still_be_overridden(file: Path) -> None:
    text = "server: &s {port: 1, workers: 2}\nupstream: {}\nreliability: {}\n"
    assert loaded(file, text + "pacing: {<<: {mode: on}, mode: off}").pacing.mode == "off"


def test_a_file_that_is_not_there_or_no_text_is_one_readable_line(file: Path) -> None:
    with pytest.raises(ConfigError) as missing:
        load(file)
    assert str(missing.value) == f"{file}: No such file or directory"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"lockgate\.yaml"):
        load(file)


def test_variables_stand_anywhere(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHERE", "a.example")
    monkeypatch.setenv("KEY", "sk-1")
    text = "providers: {p: {dialect: anthropic, base_url: 'https://${WHERE}/x', api_key: '${KEY}'}}"

    provider = loaded(file, text).providers["p"]

    assert provider.base_url == "https://a.example/x"
    assert provider.api_key is not None
    assert provider.api_key.get_secret_value() == "sk-1"
    assert "sk-1" not in repr(provider)


def test_each_variable_that_is_not_set_is_named_with_its_place(file: Path) -> None:
    lines = problems(file, (KEYED % "'${NO_KEY}'") + "models: [{name: '${NO_NAME}', provider: oa}]")

    assert lines == [
        "providers.oa.api_key: the environment variable NO_KEY is not set",
        "models.0.name: the environment variable NO_NAME is not set",
    ]


@pytest.mark.parametrize("name", ["oa", "my.own.host"])
@pytest.mark.parametrize("literal", ["sk-secret", "'Bearer ${KEY}'", "''"])
def test_a_secret_in_the_file_itself_is_refused(file: Path, literal: str, name: str) -> None:
    lines = problems(file, (KEYED % literal).replace("oa", name))

    assert lines == [
        f"providers.{name}.api_key: write secrets as ${{NAME}} or file:PATH, "
        "never in the file itself"
    ]


HEADED = KEYED.replace("api_key: %s", "headers: {%s: %s}")


@pytest.mark.parametrize("header", ["authorization", "X-API-Key", "api-key", "cookie", "my-token"])
@pytest.mark.parametrize("literal", ["sk-secret", "Bearer sk-secret", "'Bearer ${KEY}x'", "''"])
def test_a_credential_in_a_header_is_a_secret(
    file: Path, monkeypatch: pytest.MonkeyPatch, header: str, literal: str
) -> None:
    monkeypatch.setenv("KEY", "k")

    assert problems(file, HEADED % (header, literal)) == [
        f"providers.oa.headers.{header}: write secrets as ${{NAME}} or file:PATH, "
        "never in the file itself"
    ]


@pytest.mark.parametrize(
    ("header", "written", "sent"),
    [
        ("authorization", "'Bearer ${KEY}'", "Bearer sk-1"),
        ("authorization", "'${KEY}'", "sk-1"),
        ("x-api-key", "file:key.txt", "sk-2"),
        ("authorization", "'Bearer file:key.txt'", "Bearer sk-2"),
        ("openai-organization", "org-literal", "org-literal"),
        ("x-portkey-provider", "'@${KEY}'", "@sk-1"),
    ],
)
def test_a_header_is_sent_as_it_is_written(
    file: Path, monkeypatch: pytest.MonkeyPatch, header: str, written: str, sent: str
) -> None:
    monkeypatch.setenv("KEY", "sk-1")
    (file.parent / "key.txt").write_text("sk-2\n")

    provider = loaded(file, HEADED % (header, written)).providers["oa"]

    assert provider.headers == {header: sent}


def test_the_metrics_token_is_a_secret_too(file: Path) -> None:
    assert problems(file, "metrics: {token: t}")[0].startswith("metrics.token: write secrets as")


def test_a_secret_may_lie_in_a_file_beside_the_configuration(file: Path) -> None:
    (file.parent / "key.txt").write_text("sk-2\n")

    key = loaded(file, KEYED % "file:key.txt").providers["oa"].api_key

    assert key is not None
    assert key.get_secret_value() == "sk-2"


def test_a_secret_file_that_is_not_there_is_named(file: Path) -> None:
    (line,) = problems(file, KEYED % "file:none.txt")

    assert line.startswith("providers.oa.api_key: ")
    assert "none.txt" in line


def test_a_secret_never_stands_in_an_error(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "sk-very-secret")

    lines = problems(file, (KEYED % "'${KEY}'") + "server: {port: x}\nrouter: {type: y}")

    assert "sk-very-secret" not in "\n".join(lines)


def test_the_environment_wins_over_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCKGATE_SERVER__PORT", "9000")
    monkeypatch.setenv("LOCKGATE_UPSTREAM__IDLE_S", "2m")

    config = loaded(file, "server: {port: 1, workers: 3}\nupstream: {retries: 5}")

    assert (config.server.port, config.server.workers) == (9000, 3)
    assert (config.upstream.idle_s, config.upstream.retries) == (120, 5)


def test_the_environment_wins_over_the_embedded_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCKGATE_SERVER__PORT", "9000")

    assert load(None).server.port == 9000


@pytest.mark.parametrize("text", ["", "server: {port: 1}", None], ids=["empty", "file", "none"])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("LOCKGATE_SERVR__PORT", "LOCKGATE_SERVR__PORT: there is no section 'servr'"),
        ("LOCKGATE_SERVER__PROT", "server.prot: "),
        ("LOCKGATE_SERVER", "server"),
    ],
)
def test_a_variable_that_sets_nothing_stops_the_start(
    file: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, name: str, said: str
) -> None:
    monkeypatch.setenv(name, "1x")
    if text is not None:
        file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(None if text is None else file)

    assert said in str(caught.value)


def test_a_variable_with_a_value_of_the_wrong_kind_names_its_path(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCKGATE_SERVER__PORT", "many")

    assert problems(file, "")[0].startswith("server.port: ")


def test_secrets_are_read_from_the_environment_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (secrets().key_secret, secrets().admin_token) == (None, None)

    monkeypatch.setenv("LOCKGATE_KEY_SECRET", "s")
    monkeypatch.setenv("LOCKGATE_ADMIN_TOKEN", "t")

    assert (secrets().key_secret, secrets().admin_token) == ("s", "t")
    assert load(None).server.port == 8080


def test_workers_are_told_which_file_to_load(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCKGATE_CONFIG_FILE", "")
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", "")

    hand_down(file, "/somewhere")
    assert handed_down() == file.resolve()
    assert os.environ["PROMETHEUS_MULTIPROC_DIR"] == "/somewhere"

    hand_down(None, "/somewhere")
    assert handed_down() is None


def test_a_password_of_a_proxy_comes_from_the_environment(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAY_OUT", "http://me:pass@p:3128")

    config = loaded(file, "upstream: {proxy: '${WAY_OUT}'}")

    assert config.upstream.proxy is not None
    assert config.upstream.proxy.get_secret_value() == "http://me:pass@p:3128"
    assert "pass" not in repr(config)
