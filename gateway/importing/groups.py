"""Deployments of one name: accounts of one model, or models that are each other's fallbacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from gateway.config.names import serves
from gateway.importing.deployment import Deployment
from gateway.importing.report import Report
from techniques.core.json import Json, JsonObject

_IN_TURN: Final = (
    "the model is another than that of the first of this name, and asked when it fails"
)
_NO_SUCH: Final = "it names a model that is not carried over"
_ONE: Final = "a name that ends in * is that of one provider here: that of the first row"
_VECTORS: Final = "vectors of another model mean nothing to it: it has no default fallback"


class Groups:
    """The deployments by their names, and what is said of the names."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self._groups: dict[str, list[Deployment]] = {}
        self._fallbacks: dict[str, list[str]] = {}
        self._aliases: dict[str, str] = {}

    def add(self, one: Deployment) -> None:
        """Take *one* in."""
        self._groups.setdefault(one.name, []).append(one)

    def alias(self, name: str, of: str, at: str) -> None:
        """Have the models of *of* also be called *name*."""
        if of not in self._groups or "*" in of + name:
            self.report.lose(at, _NO_SUCH)
        elif name in self._groups or name in self._aliases:
            self.report.lose(at, "a model is called so already")
        else:
            self._aliases[name] = of

    def fall_back(self, name: str, to: Json, at: str) -> None:
        """Have *to* be asked when *name* fails; ``*`` stands for every name that has none."""
        names = [one for one in to if isinstance(one, str)] if isinstance(to, list) else []
        known = [one for one in names if serves({*self._groups, *self._aliases}, one)]
        if len(known) < len(names) or not names or (name != "*" and not self._has(name)):
            self.report.lose(at, _NO_SUCH)
        if known:
            self._fallbacks.setdefault(name, known)

    def _has(self, name: str) -> bool:
        return name in self._groups or name in self._aliases

    def written(self) -> tuple[JsonObject, list[JsonObject]]:
        """Return the providers and the models of our configuration."""
        providers: JsonObject = {}
        models: list[JsonObject] = []
        for name, group in self._groups.items():
            rows = list(self._rows(name, sorted(group, key=lambda one: one.order), providers))
            models += rows
            for other in (alias for alias, of in self._aliases.items() if of == name):
                models.append(self._also(other, rows[0]))
        return providers, models

    def _also(self, name: str, row: JsonObject) -> JsonObject:
        also = {"name": name, "model": row["name"], **{k: v for k, v in row.items() if k != "name"}}
        also.pop("fallbacks", None)
        stated = [one for one in row.get("fallbacks", ()) if self._is_ours(one)]
        follow = self._fallbacks.get(name) or self._next(row["name"])
        fallbacks = [one for one in (*stated, *follow) if one != name]
        return {**also, "fallbacks": list(dict.fromkeys(fallbacks))} if fallbacks else also

    def _is_ours(self, name: str) -> bool:
        return name not in self._groups

    def _next(self, name: str) -> list[str]:
        default = self._fallbacks.get("*", [])
        first = self._groups[name][0]
        if default and name not in self._fallbacks and first.makes_vectors:
            self.report.note(first.at, _VECTORS)
            default = []
        return [one for one in self._fallbacks.get(name, default) if one != name]

    def _rows(
        self, name: str, group: Iterable[Deployment], providers: JsonObject
    ) -> Iterator[JsonObject]:
        """Yield the models that *group* comes to; the first has the name."""
        found: list[tuple[Deployment, JsonObject]] = []
        for one in group:
            same = next((row for it, row in found if _is_same(it, one)), None)
            if same is None and found and name.endswith("*"):
                self.report.lose(one.at, _ONE)
                continue
            provider = _placed(one, providers)
            if same is None:
                found.append((one, {"name": name, "provider": provider, **one.model}))
            elif provider != same["provider"] and provider not in same.get("accounts", ()):
                same["accounts"] = [*same.get("accounts", ()), provider]
                self._meet(same, one)
            else:
                self.report.lose(one.at, "it is the same account and model as one before it")
        rest = [self._free(name, place) for place in range(2, len(found) + 1)]
        first = found[0][1]
        if fallbacks := [*rest, *self._next(name)]:
            first["fallbacks"] = fallbacks
        yield first
        for other, (one, row) in zip(rest, found[1:], strict=True):
            self.report.note(one.at, _IN_TURN)
            yield {**row, "model": row.get("model", name), "name": other}

    def _meet(self, row: JsonObject, one: Deployment) -> None:
        """Say that of two accounts the first one's settings hold."""
        for name in ("limits", "price", "thinking"):
            stated = one.model.get(name)
            if stated is not None and stated != row.get(name):
                why = f"the `{name}` of the first of this name hold for all its accounts"
                self.report.lose(f"{one.at}.litellm_params", why)

    def _free(self, name: str, place: int) -> str:
        free = f"{name}-{place}"
        while self._has(free):
            free += "-other"
        return free


def _is_same(one: Deployment, other: Deployment) -> bool:
    """Return whether two deployments are one model at different accounts."""
    return one.provider["dialect"] == other.provider["dialect"] and (
        one.model.get("model"),
        one.host,
    ) == (other.model.get("model"), other.host)


def _placed(one: Deployment, providers: JsonObject) -> str:
    """Return the name of the provider of *one*, which is added if it is a new one."""
    stem = one.host.replace("ollama_chat", "ollama").replace("_", "-")
    name, count = stem, 1
    while name in providers and providers[name] != one.provider:
        count += 1
        name = f"{stem}-{count}"
    providers[name] = one.provider
    return name
