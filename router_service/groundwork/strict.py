"""Reads YAML as a configuration is written: strictly, and of a size that somebody can have meant.

Whatever a file holds comes to a value or to one readable error: one that is half written must not
stop who reads it again while calls are served.
"""

from __future__ import annotations

from math import inf
from typing import Any, Final

import yaml
from yaml.composer import ComposerError
from yaml.constructor import ConstructorError

_MOST: Final = 1_000_000
"""Values, each counted as often as it is named: some lines can stand for more than fit anywhere."""

_WRONG: Final = (ValueError, LookupError, AttributeError, TypeError, OverflowError)


def read_yaml(text: str) -> Any:
    """Return the value in *text*.

    Raises:
        yaml.YAMLError: It has none that can be used.
    """
    try:
        value = yaml.load(text, _Strict)
        size = _size(value, {})
    except RecursionError:
        raise yaml.YAMLError("it is nested too deeply") from None
    if size == inf:
        raise yaml.YAMLError("an anchor is used within what it names")
    if size > _MOST:
        raise yaml.YAMLError("its anchors make more of it than can be read")
    return value


class _Strict(yaml.SafeLoader):
    """Refuses a name that stands twice in one mapping: of two settings one would be lost."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        names: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in names:
                raise ComposerError(
                    problem=f"{key.value!r} stands twice", problem_mark=key.start_mark
                )
            names.add(key.value if isinstance(key, yaml.ScalarNode) else "")
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:  # noqa: FBT001, FBT002 - PyYAML's
        try:
            return super().construct_object(node, deep)
        except _WRONG as error:
            kind = node.tag.rpartition(":")[2]
            raise ConstructorError(
                problem=f"this cannot be read as {kind}", problem_mark=node.start_mark
            ) from error


def _size(value: Any, sizes: dict[int, float]) -> float:
    """Return of how many values *value* is made; of one that has itself in it there is no end."""
    if not isinstance(value, dict | list):
        return 1
    known = sizes.get(id(value))
    if known is None:
        sizes[id(value)] = inf
        parts = value.values() if isinstance(value, dict) else value
        known = sizes[id(value)] = 1 + sum(_size(part, sizes) for part in parts)
    return known
