"""Contexts of JSON-LD within limits.

pyoxigraph defines the terms that a term is made of before the term itself, each call inside of the last until the stack
ends, and it copies all terms in scope for each context that it meets.

So two things are measured first: how long the chains of definitions are, and how many terms all copies come to.
Contexts are found wherever they stand, in a document that is broken further on too: pyoxigraph reads as it goes.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from heliograph.errors import DocumentError
from heliograph.feeds import guards
from heliograph.feeds.opening import Bytes

MAX_COPIES = 2_000_000  # terms that are copied for all contexts; takes some second
_TERM = 8  # characters of a term at least: contexts side by side come to one copy of each, and are never too many

_DEFINING = ("@id", "@type", "@reverse", "@index", "@nest")
# The key, of which each character may be written as an escape.
_KEY = re.compile("".join(('"', *(rf"(?:{c}|\\u00{ord(c):x})" for c in "@context"), r'"\s*:\s*')), re.IGNORECASE)

Pairs = tuple[tuple[str, Any], ...]  # an object, with all values of a key that stands twice; arrays are lists


def check_json_ld(data: Bytes) -> None:
    """Refuses nesting, chains of definitions and copies of contexts beyond the limits."""
    guards.check_json(data)
    text = bytes(data).decode("utf-8", "replace")
    found = list(_contexts(text))
    if not found:
        return
    contexts = [context for context, _ in found]
    for context in (context for context, length in found if length > guards.MAX_BASE):  # a short one holds no chain
        if _depth(context) > guards.MAX_DEPTH:
            raise guards.too_deep("terms of a context that are defined by others")
        if _length(context) > guards.MAX_BASE:
            raise guards.too_long("a base, vocabulary or prefix")
    sizes = {name: size for context in contexts for name, size in _scoped(context)}
    uses = len(contexts) + (text.count('"') if sizes else 0)
    most = MAX_COPIES + len(text) // _TERM
    if uses * sum(map(_size, contexts)) > most and _copies(text, sizes, most) > most:
        raise DocumentError(
            "HG-320",
            f"contexts inside of contexts, whose terms come to more than {most:,} in all",
            fix="state one context at the top of the document, without contexts inside",
        )


def _decoder() -> json.JSONDecoder:
    return json.JSONDecoder(object_pairs_hook=tuple, parse_int=str, parse_float=str, strict=False)


def _contexts(text: str) -> Iterator[tuple[Any, int]]:
    """The outermost contexts and their lengths; none behind what is no JSON, which the parser does not reach either."""
    decoder = _decoder()
    end = 0
    for key in _KEY.finditer(text):
        if key.start() >= end:
            try:
                context, end = decoder.raw_decode(text, key.end())
            except ValueError:
                return
            yield context, end - key.end()


def _objects(context: Any) -> Iterator[Pairs]:
    """The objects of a context, which is one or an array of them."""
    for part in context if isinstance(context, list) else (context,):
        if isinstance(part, tuple):
            yield part


def _size(context: Any) -> int:
    """The terms of a context, with those of the contexts inside of it."""
    size = 0
    stack = [context]
    while stack:
        value = stack.pop()
        if isinstance(value, tuple):
            size += len(value)
            stack += [inner for _, inner in value]
        elif isinstance(value, list):
            stack += value
    return size


def _scoped(context: Any) -> Iterator[tuple[str, int]]:
    """The terms that bring a context of their own, and its size."""
    for part in _objects(context):
        for term, value in part:
            for key, inner in value if isinstance(value, tuple) else ():
                if key == "@context":
                    yield term, _size(inner)
                    yield from _scoped(inner)


def _depth(context: Any) -> int:
    """The longest chain of terms that are defined by one another; what a term's own context needs comes on top."""
    return max(map(_chain, _objects(context)), default=0)


def _chain(context: Pairs) -> int:
    own: dict[str, int] = dict.fromkeys((term for term, _ in context), 1)
    for term, value in context:
        for key, inner in value if isinstance(value, tuple) else ():
            if key == "@context":
                own[term] = max(own[term], 1 + _depth(inner))
    return _longest(_needs(context), own)


def _length(context: Any) -> int:
    """The bytes of the longest IRI that others may be resolved against; texts are short of that if none is long."""
    longest = bases = 0
    for part in _objects(context):
        sizes: dict[str, int] = dict.fromkeys((term for term, _ in part), 0)
        for term, value in part:
            sizes[term] = max((len(text) for text in _texts(value)), default=0)
        bases += sum(sizes.get(key, 0) for key in ("@base", "@vocab"))
        if sum(sizes.values()) > guards.MAX_BASE:
            longest = max(longest, _longest(_needs(part), sizes))
    return max(bases, longest)


def _needs(context: Pairs) -> dict[str, set[str]]:
    """For each term, the others that must be defined before it."""
    needs: dict[str, set[str]] = {}
    terms = {term for term, _ in context}
    for term, value in context:
        parts = {part for text in (term, *_texts(value)) for part in (text, text.partition(":")[0])}
        needs.setdefault(term, set()).update((parts & terms) - {term})
    return needs


def _texts(value: Any) -> Iterable[str]:
    """What a definition is made of."""
    if isinstance(value, tuple):
        return [text for key, text in value if key in _DEFINING and isinstance(text, str)]
    return [value] if isinstance(value, str) else []


def _longest(needs: dict[str, set[str]], own: dict[str, int]) -> int:
    """The longest path, where `own` is what each term adds. Terms in or before a circle are taken as one path."""
    needed_by: dict[str, list[str]] = defaultdict(list)
    for term, parts in needs.items():
        for part in parts:
            needed_by[part].append(term)
    missing = {term: len(parts) for term, parts in needs.items()}
    depth = {term: own[term] for term, count in missing.items() if not count}
    ready = list(depth)
    for term in ready:
        for other in needed_by[term]:
            missing[other] -= 1
            depth[other] = max(depth.get(other, 0), depth[term] + own[other])
            if not missing[other]:
                ready.append(other)
    circular = [term for term, count in missing.items() if count]
    known = max((depth[term] for term in ready), default=0)
    return known + sum(own[term] for term in circular)


def _copies(text: str, scoped: dict[str, int], most: int) -> int:
    """How many terms are in scope at all contexts of a document, and at all uses of terms that bring one."""
    try:
        root: Any = _decoder().decode(text)
    except ValueError:
        return most + 1  # how they are nested cannot be told
    copies = 0
    stack = [(root, 0)]
    while stack:
        value, scope = stack.pop()
        if isinstance(value, list):
            stack += [(inner, scope) for inner in value]
            continue
        if not isinstance(value, tuple):
            continue
        contexts = [inner for key, inner in value if key == "@context"]
        names = [name for _, inner in value for name in (inner if isinstance(inner, list) else (inner,))]
        types = [scoped[name] for name in names if isinstance(name, str) and name in scoped] if scoped else []
        for size in (*map(_size, contexts), *types):
            scope += size
            copies += scope
        for key, inner in value:
            size = scoped.get(key, 0)
            copies += scope + size if size else 0
            if key != "@context":
                stack.append((inner, scope + size))
    return copies
