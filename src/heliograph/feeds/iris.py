"""Links and ids of feeds as IRIs, which they often nearly are."""

from __future__ import annotations

import re
from urllib.parse import quote, urljoin

from heliograph.terms import Term, iri, plain_name

_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x20<>\"{}|^`\\]+")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_WEB = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://")
_FORBIDDEN = re.compile(r"[\x00-\x20<>\"{}|^`\\]")


def as_iri(text: str) -> str | None:
    """The text as an IRI: as it is, or with forbidden characters of a web address escaped; None if it is none."""
    if _IRI.fullmatch(text):
        return text
    if _WEB.match(text):
        return _FORBIDDEN.sub(lambda match: quote(match[0], safe=""), text)
    return None


MAX_BASE = 1024  # characters; against a longer one nothing is resolved: all links together would take too long


def resolved(base: str, link: str) -> str:
    """A relative link as an absolute one, where there is something to resolve it against."""
    if not base or len(base) > MAX_BASE or _SCHEME.match(link):
        return link
    try:
        return urljoin(base, link)
    except ValueError:  # a base whose host cannot be read
        return link


def subject_of(id: str, link: str) -> Term:
    """The node that an item is: its id if that is an IRI, else its link, else the name that its id is."""
    address = as_iri(id) or as_iri(link)
    return plain_name(id) if address is None else iri(address)
