"""What the elements of a feed say, as text. None of this recurses, however deep the elements nest."""

from __future__ import annotations

from xml.etree.ElementTree import Element
from xml.sax.saxutils import escape, quoteattr


def content(element: Element) -> str:
    """All text in an element."""
    if len(element):
        return "".join(element.itertext()).strip()
    value = element.text
    return value.strip() if value else ""


def nothing(element: Element) -> str:
    return ""


def url(element: Element) -> str:
    """An address in an attribute, or else the text."""
    return element.get("url", "").strip() or content(element)


def category(element: Element) -> str:
    return element.get("term", "").strip() or content(element)


def alternate(link: Element) -> str:
    """The address of Atom's link, if it is the one to the same thing in another form."""
    return link.get("href", "").strip() if link.get("rel", "alternate") == "alternate" else ""


def marked_up(element: Element) -> str:
    """Text, or XHTML as markup."""
    return xhtml(element) if element.get("type") == "xhtml" else content(element)


def xhtml(element: Element) -> str:
    """What stands inside XHTML's outer div, as markup without namespaces."""
    outer = element[0] if len(element) == 1 and local_name(element[0]) == "div" else element
    written = [escape(outer.text or "")]
    stack: list[Element | str] = list(reversed(outer))
    while stack:
        part = stack.pop()
        if isinstance(part, str):
            written.append(part)
            continue
        name = local_name(part)
        attributes = "".join(f" {key.rpartition('}')[2]}={quoteattr(value)}" for key, value in part.items())
        written.append(f"<{name}{attributes}>{escape(part.text or '')}")
        stack += [f"</{name}>{escape(part.tail or '')}", *reversed(part)]
    return "".join(written).strip()


def local_name(element: Element) -> str:
    return element.tag.rpartition("}")[2]
