"""Bodies that clients might send: whole and sensible ones, then with one thing wrong in them."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence

from hypothesis import strategies as st

from techniques.core.json import Json
from tests.property.examples import RARE, WHOLE, Surface

Place = tuple[str | int, ...]

WORDS = st.sampled_from(
    [
        *("role", "content", "type", "text", "user", "assistant", "tool", "system", "function"),
        *("image_url", "url", "tool_use", "tool_result", "tool_calls", "arguments", "document"),
        *("id", "input", "source", "thinking", "signature", "file", "name", "{}", "", "\u2028"),
        *("data:image/png;base64,", "data:", "https://", "\x00", "none", "auto", "self_refine"),
    ]
)
NUMBERS = st.one_of(
    st.integers(-(2**63), 2**64 - 1), st.floats(allow_nan=False, allow_infinity=False)
)
ANY: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | NUMBERS | WORDS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=10,
)


def places(value: Json, at: Place = ()) -> Iterator[Place]:
    """Yield the path of everything inside *value*."""
    inner: Sequence[tuple[str | int, Json]] = ()
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    for name, part in inner:
        yield (*at, name)
        yield from places(part, (*at, name))


def put(body: Json, place: Place, value: Json) -> None:
    """Set what is at *place* in *body*; nothing happens if that place is gone."""
    *way, last = place
    for step in way:
        try:
            body = body[step]
        except (LookupError, TypeError):
            return
    fits = isinstance(body, dict) if isinstance(last, str) else isinstance(body, list)
    if fits and (isinstance(last, str) or last < len(body)):
        body[last] = value


@st.composite
def bodies(draw: st.DrawFn, surface: Surface) -> Json:
    """Return a body for *surface* in which up to three things are something else."""
    rare = RARE[surface]
    more = sorted(draw(st.sets(st.sampled_from(sorted(rare)), max_size=2)))
    body = copy.deepcopy({**WHOLE[surface], **{name: rare[name] for name in more}})
    body["stream"] = draw(st.booleans())
    kept = draw(st.sets(st.sampled_from(sorted(body)), min_size=len(body) - 4))
    body = {name: value for name, value in body.items() if name in kept | {"model", "messages"}}
    changed = st.tuples(st.sampled_from(list(places(body))), ANY)
    for place, value in draw(st.lists(changed, min_size=1, max_size=3)):
        put(body, place, value)
    return body
