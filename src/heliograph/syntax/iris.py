"""Relative IRIs: resolved against a base as RFC 3986, section 5.2, says."""

from __future__ import annotations

import re
from typing import NamedTuple

_PARTS = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.\-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")


class _Iri(NamedTuple):
    scheme: str | None
    authority: str | None
    path: str
    query: str | None
    fragment: str | None


def is_absolute(iri: str) -> bool:
    return _SCHEME.match(iri) is not None


def resolve(base: str, reference: str) -> str:
    """The absolute IRI that `reference` means where `base` is in force."""
    if is_absolute(reference):
        return reference
    whole, part = _split(base), _split(reference)
    if part.authority is not None:
        target = _Iri(whole.scheme, part.authority, _without_dots(part.path), part.query, part.fragment)
    elif part.path:
        target = _Iri(whole.scheme, whole.authority, _without_dots(_merge(whole, part.path)), part.query, part.fragment)
    else:
        query = whole.query if part.query is None else part.query
        target = _Iri(whole.scheme, whole.authority, whole.path, query, part.fragment)
    return _join(target)


def _split(iri: str) -> _Iri:
    match = _PARTS.fullmatch(iri)
    assert match is not None  # the expression matches every text
    scheme, authority, path, query, fragment = match.groups()
    return _Iri(scheme, authority, path, query, fragment)


def _merge(base: _Iri, path: str) -> str:
    if path.startswith("/"):
        return path
    if base.authority is not None and not base.path:
        return "/" + path
    return base.path[: base.path.rfind("/") + 1] + path


def _without_dots(path: str) -> str:
    segments: list[str] = []
    parts = path.split("/")
    for part in parts:
        if part == "..":
            del segments[max(1 if path.startswith("/") else 0, len(segments) - 1) :]
        elif part != ".":
            segments.append(part)
    if parts[-1] in (".", ".."):
        segments.append("")
    return "/".join(segments)


def _join(iri: _Iri) -> str:
    authority = "" if iri.authority is None else f"//{iri.authority}"
    query = "" if iri.query is None else f"?{iri.query}"
    fragment = "" if iri.fragment is None else f"#{iri.fragment}"
    return f"{iri.scheme}:{authority}{iri.path}{query}{fragment}"
