"""The kinds of feeds, told by the root element: what their items are called and what namespace they live in."""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple

from heliograph.feeds.opening import Bytes
from heliograph.feeds.prolog import Root
from heliograph.terms import PREFIXES, RDF

RSS = PREFIXES["rss"]
ATOM = "http://www.w3.org/2005/Atom"

# Namespaces whose elements mean what those of RSS 1.0 mean.
RSS_AS_RDF = (RSS, "http://my.netscape.com/rdf/simple/0.9/", "http://channel.netscape.com/rdf/simple/0.9/")
_ATOMS = (ATOM, "http://purl.org/atom/ns#", "")


class Kind(Enum):
    """How a feed's items are read."""

    RSS1 = "RSS 1.0"
    RSS2 = "RSS 2.0"
    ATOM = "Atom"


class Dialect(NamedTuple):
    """A feed's kind, the namespace of its elements, and the names of its items as they are written."""

    kind: Kind
    namespace: str
    names: tuple[bytes, ...]
    parents: tuple[bytes, ...]

    @property
    def item(self) -> str:
        return "entry" if self.kind is Kind.ATOM else "item"

    def tag(self, local: str) -> str:
        """An element's name as the tree builder writes it."""
        return f"{{{self.namespace}}}{local}" if self.namespace else local


def is_rdf(root: Root) -> bool:
    return (root.namespace, root.local) == (RDF, "RDF") or RDF in root.prefixes.values()


def dialect_of(root: Root, data: Bytes) -> Dialect | None:
    """The dialect of a feed; None if the root is not a feed's, or RDF without items."""
    if root.local == "rss":
        parents = (_beside(root, b"channel"), root.qname)
        return Dialect(Kind.RSS2, root.namespace, _names(root, root.namespace, b"item", data), parents)
    if root.local == "feed" and root.namespace in _ATOMS:
        return Dialect(Kind.ATOM, root.namespace, _names(root, root.namespace, b"entry", data), (root.qname,))
    if (root.namespace, root.local) == (RDF, "RDF"):
        for namespace in RSS_AS_RDF:
            names = _names(root, namespace, b"item", data)
            if names and _occurs(names[0], data):
                return Dialect(Kind.RSS1, namespace, names, (root.qname,))
    return None


def _names(root: Root, namespace: str, local: bytes, data: Bytes) -> tuple[bytes, ...]:
    """How elements of a namespace may be written: those names first that do occur."""
    prefixes = [prefix.encode() for prefix, uri in root.prefixes.items() if uri == namespace]
    if namespace == root.namespace:
        prefixes = [root.qname.rpartition(b":")[0], *prefixes]
    names = [prefix + b":" + local if prefix else local for prefix in prefixes or _declared(namespace, data)]
    return tuple(dict.fromkeys([name for name in names if _occurs(name, data)] or names[:1]))


def _beside(root: Root, local: bytes) -> bytes:
    prefix, colon, _ = root.qname.rpartition(b":")
    return prefix + colon + local


def _occurs(name: bytes, data: Bytes) -> bool:
    return re.search(rb"<%b[\s/>]" % re.escape(name), data) is not None


def _declared(namespace: str, data: Bytes) -> list[bytes]:
    """The prefixes that a namespace is bound to further in."""
    declaration = rb"""xmlns(?::([A-Za-z_][\w.\-]*))?\s*=\s*["']%b["']""" % re.escape(namespace.encode())
    return list({match[1] or b"": None for match in re.finditer(declaration, data)})
