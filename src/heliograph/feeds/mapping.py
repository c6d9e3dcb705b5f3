"""Items of RSS 2.0 (and 0.91 to 0.94) and entries of Atom, mapped to the vocabulary of RSS 1.0 (see `entries`).

RSS 2.0   title, link and description keep their names, `pubDate` is dc:date, `author` dc:creator, `category`
          dc:subject, `guid` dc:identifier (and rss:link if it is a link and there is no other), `source` dc:source;
          other elements keep their names in the namespace of RSS 1.0.
Atom      `title` is rss:title, the alternate link rss:link, `summary` rss:description, `content` content:encoded,
          `published` and `updated` are both dc:date, an author's name is dc:creator (the feed's own where an entry has
          none), a category's term dc:subject, `id` dc:identifier, `rights` dc:rights. XHTML is kept as markup.
Elements of other namespaces that hold text keep their names. What holds no text says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element

from heliograph.feeds import entries
from heliograph.feeds.channel import XML_BASE
from heliograph.feeds.dialects import RSS, Dialect, Kind
from heliograph.feeds.entries import Entries, Entry, date, text
from heliograph.feeds.iris import as_iri, resolved, subject_of
from heliograph.feeds.markup import alternate, category, content, marked_up, nothing, url
from heliograph.terms import RDF_TYPE, Term, iri

DCTERMS = "http://purl.org/dc/terms/"
DATES = {entries.DATE.value} | {DCTERMS + name for name in "date created issued modified available".split()}

Read = Callable[[Element], str]
Make = Callable[[str], Term]
Meaning = tuple[Term, Read, Make]

_RSS2: Mapping[str, Meaning] = {
    "title": (entries.TITLE, content, text),
    "link": (entries.LINK, content, text),
    "description": (entries.DESCRIPTION, content, text),
    "pubDate": (entries.DATE, content, date),
    "author": (entries.CREATOR, content, text),
    "category": (entries.SUBJECT, content, text),
    "guid": (entries.IDENTIFIER, content, text),
    "source": (entries.SOURCE, url, text),
    "enclosure": (iri(RSS + "enclosure"), url, text),
}


def _atom(dialect: Dialect) -> Mapping[str, Meaning]:
    def person(element: Element) -> str:
        return _inner(element, dialect.tag("name")) or _inner(element, dialect.tag("email"))

    def source(element: Element) -> str:
        return _inner(element, dialect.tag("id"))

    return {
        "id": (entries.IDENTIFIER, content, text),
        "title": (entries.TITLE, content, text),
        "rights": (entries.RIGHTS, content, text),
        "summary": (entries.DESCRIPTION, marked_up, text),
        "content": (entries.ENCODED, marked_up, text),
        "link": (entries.LINK, alternate, text),
        "category": (entries.SUBJECT, category, text),
        "author": (entries.CREATOR, person, text),
        "contributor": (entries.CONTRIBUTOR, person, text),
        "source": (entries.SOURCE, source, text),
        # The last three are those of Atom 0.3.
        **dict.fromkeys(("published", "updated", "issued", "modified", "created"), (entries.DATE, content, date)),
    }


def _inner(element: Element, tag: str) -> str:
    found = element.find(tag)
    return "" if found is None else content(found)


class Use(NamedTuple):
    """What is made of an element: the code of the predicate, how its value is read, and the term it becomes."""

    predicate: int
    read: Read
    make: Make


class Mapper:
    """Maps the items of one feed; `base` is what its relative links are resolved against."""

    def __init__(self, dialect: Dialect, base: str, collected: Entries) -> None:
        meanings = _atom(dialect) if dialect.kind is Kind.ATOM else _RSS2
        self._dialect = dialect
        self._base = base
        self._entries = collected
        self._uses = {dialect.tag(local): self._use(*meaning) for local, meaning in meanings.items()}
        self._type, self._link = collected.code(RDF_TYPE), collected.code(entries.LINK)
        self._identifier, self._creator = collected.code(entries.IDENTIFIER), collected.code(entries.CREATOR)

    def _use(self, predicate: Term, read: Read, make: Make) -> Use:
        return Use(self._entries.code(predicate), read, make)

    def entry(self, element: Element, name: str, authors: Sequence[str] = ()) -> Entry:
        """An item; `name` is its id if it has none of its own, `authors` its creators."""
        predicates, objects = [self._type], [entries.ITEM]
        id = link = ""
        uses = self._uses
        for child in element:
            predicate, read, make = uses.get(child.tag) or self._other(child.tag)
            value = read(child)
            if not value:
                continue
            if predicate == self._link:
                value = resolved(element.get(XML_BASE) or self._base, value)
                link = link or value
            elif predicate == self._identifier:
                id = id or value
            predicates.append(predicate)
            objects.append(make(value))
        if not link and (link := self._permanent(element)):
            predicates.append(self._link)
            objects.append(text(link))
        if authors and self._creator not in predicates:
            predicates += [self._creator] * len(authors)
            objects += map(text, authors)
        id = id or link or name
        return Entry(id, subject_of(id, link), predicates, objects)

    def _other(self, tag: str) -> Use:
        """An element that has no meaning of its own here."""
        namespace, _, local = tag[1:].rpartition("}") if tag.startswith("{") else ("", "", tag)
        predicate = as_iri((RSS if namespace == self._dialect.namespace else namespace) + local)
        if predicate is None or (namespace == self._dialect.namespace and self._dialect.kind is Kind.ATOM):
            use = self._use(RDF_TYPE, nothing, text)
        else:
            use = self._use(iri(predicate), content, date if predicate in DATES else text)
        self._uses[tag] = use
        return use

    def _permanent(self, element: Element) -> str:
        """The guid of an item of RSS 2.0 is its link, unless it says that it is not."""
        guid = element.find(self._dialect.tag("guid"))
        if guid is None or guid.get("isPermaLink", "true").strip().lower() == "false":
            return ""
        return content(guid) if as_iri(content(guid)) else ""

    def authors(self, feed: Element) -> list[str]:
        """The authors of an Atom feed."""
        use = self._uses[self._dialect.tag("author")]
        return [name for author in feed.findall(self._dialect.tag("author")) if (name := use.read(author))]
