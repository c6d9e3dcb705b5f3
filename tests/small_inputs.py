"""Small inputs that once took long, or might: each is a function of a size, made so that the largest is about 1 MB."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import reduce
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from heliograph.cli.inputs import read_publications
from heliograph.cli.run import Pace
from heliograph.filter import Filter
from heliograph.model import MOST_REPORTED, rejection_report
from heliograph.terms import PREFIXES

if TYPE_CHECKING:
    from heliograph.cli.run import CommandRun

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
HEADER = "publication_id,subject,property,object\n"
ROW = '{"publication_id":"1","subject":"a","property":"b","object":'


class Input(NamedTuple):
    """What makes an input of a suffix from a size, and the size at which it has about 1 MB (or what it takes)."""

    suffix: str
    size: int
    make: Callable[[int], str | bytes]


def rss(body: str) -> str:
    return f"<rss><channel><title>C</title>{body}</channel></rss>"


def rdf(body: str, attributes: str = "") -> str:
    return (
        f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:x="http://x/" xmlns="http://purl.org/rss/1.0/"{attributes}>{body}</rdf:RDF>'
    )


def atom(body: str) -> str:
    return f'<feed xmlns="http://www.w3.org/2005/Atom">{body}</feed>'


def context(terms: Any, body: str = '"http://x/p":1') -> str:
    return f'{{"@context":{json.dumps(terms)},{body}}}'


def each(size: int, text: str) -> str:
    """The text again and again, with its number for `#`."""
    return "".join(text.replace("#", str(number)) for number in range(size))


def chain(size: int, make: Callable[[int], Any]) -> dict[str, Any]:
    """Terms of a context, each of which needs the next."""
    return {f"p{number}": make(number + 1) for number in range(size)} | {f"p{size}": "http://x/"}


def nested_contexts(size: int) -> Any:
    """Chains of terms, at the end of each another context with a chain."""

    def around(inner: Any, _: int) -> Any:
        terms = chain(100, lambda next: {"@id": f"p{next}:x"})
        return terms | {"p100": {"@id": "http://x/", "@context": inner}}

    return reduce(around, range(size), {})


CHAINS: Mapping[str, Input] = {
    "prefixes": Input("jsonld", 8000, lambda n: context(chain(n, lambda next: f"p{next}:x"), '"p0:a":1')),
    "prefixes that are not used": Input("jsonld", 8000, lambda n: context(chain(n, lambda next: f"p{next}:x"))),
    "terms": Input("jsonld", 8000, lambda n: context(chain(n, lambda next: f"p{next}"), '"p0":1')),
    "ids": Input("jsonld", 8000, lambda n: context(chain(n, lambda next: {"@id": f"p{next}:x"}), '"p0":1')),
    "reverse": Input("jsonld", 8000, lambda n: context(chain(n, lambda next: {"@reverse": f"p{next}:x"}), '"p0":{}')),
    "types": Input(
        "jsonld", 8000, lambda n: context(chain(n, lambda next: {"@id": f"p{next}:y", "@type": f"p{next}:x"}))
    ),
    "a circle": Input("jsonld", 8000, lambda n: context({f"p{i}": f"p{(i + 1) % n}:x" for i in range(n)})),
    "an array": Input("jsonld", 8000, lambda n: context([{}, None, chain(n, lambda next: f"p{next}:x")])),
    "an inner object": Input(
        "jsonld", 8000, lambda n: '{"http://x/p":[' + context(chain(n, lambda next: f"p{next}:x")) + "]}"
    ),
    "a term's own context": Input(
        "jsonld",
        8000,
        lambda n: context({"a": {"@id": "http://x/", "@context": chain(n, lambda next: f"p{next}:x")}}, '"a":{"p0":1}'),
    ),
    "contexts in contexts": Input("jsonld", 8000, lambda n: context(nested_contexts(n // 100), '"p0":1')),
    "an escaped key": Input(
        "jsonld",
        8000,
        lambda n: context(chain(n, lambda next: f"p{next}:x")).replace("@context", "\\u0040conte\\u0078t"),
    ),
    "terms given twice": Input(
        "jsonld", 8000, lambda n: context(chain(n, lambda next: f"p{next}:x")).replace('"p9"', '"p9":"http://y/","p9"')
    ),
    "a broken document": Input("jsonld", 8000, lambda n: context(chain(n, lambda next: f"p{next}:x"), '"p0":')),
}

INPUTS: Mapping[str, Input] = {
    **{f"JSON-LD: a chain of {name}": made for name, made in CHAINS.items()},
    "JSON-LD: many contexts in a large one": Input(
        "jsonld",
        16_000,
        lambda n: context(
            {f"p{i}": "http://x/" for i in range(n)},
            '"http://x/p":[' + ",".join(['{"@context":{"a":"http://x/"},"a":1}'] * n) + "]",
        ),
    ),
    "JSON-LD: terms with contexts": Input(
        "jsonld",
        12_000,
        lambda n: context(
            {f"t{i}": {"@id": f"http://x/{i}", "@context": {"a": "http://x/"}} for i in range(n)},
            ",".join(f'"t{i}":{{"a":1}}' for i in range(n)),
        ),
    ),
    "JSON-LD: types with contexts": Input(
        "jsonld",
        12_000,
        lambda n: context(
            {f"t{i}": {"@id": f"http://x/{i}", "@context": {"a": "http://x/"}} for i in range(n)},
            '"@type":[' + ",".join(f'"t{i}"' for i in range(n)) + "]",
        ),
    ),
    "JSON-LD: a long base": Input(
        "jsonld",
        40_000,
        lambda n: context({"@base": "http://x/" + "a" * 12 * n}, '"@graph":[' + ",".join(['{"@id":"a"}'] * n) + "]"),
    ),
    "JSON-LD: bases on bases": Input("jsonld", 60_000, lambda n: context([{"@base": "a/"}] * n)),
    "JSON-LD: objects with a context each": Input(
        "jsonld", 25_000, lambda n: "[" + ",".join(['{"@context":{"a":"http://x/"},"a":1}'] * n) + "]"
    ),
    "JSON-LD: a list": Input("jsonld", 200_000, lambda n: '{"http://x/p":{"@list":[' + ",".join("1" * n) + "]}}"),
    "Turtle: lists in lists": Input("ttl", 400_000, lambda n: "<a:s> <a:p> " + "(" * n + ")" * n + " ."),
    "Turtle: lists that are open": Input("ttl", 900_000, lambda n: "<a:s> <a:p> " + "(" * n),
    "Turtle: blank nodes in blank nodes": Input(
        "ttl", 120_000, lambda n: "<a:s> <a:p> " + "[<a:p> " * n + "1" + "]" * n + " ."
    ),
    "Turtle: quoted triples": Input("ttl", 50_000, lambda n: "<a:s> <a:p> " + "<< <a:s> <a:p> " * n + "1" + " >>" * n),
    "Turtle: bases on bases": Input("ttl", 60_000, lambda n: "@base <http://x/> ." + "@base <a/> .\n" * n),
    "Turtle: bases behind comments": Input("ttl", 40_000, lambda n: "@base <http://x/> ." + "BASE # \n#\n <a/> \n" * n),
    "Turtle: a long base": Input(
        "ttl", 30_000, lambda n: f"@base <http://x/{'a' * 16 * n}> .\n" + "<x> <a:p> <y> .\n" * n
    ),
    "Turtle: a long prefix": Input(
        "ttl", 30_000, lambda n: f"@prefix a: <http://x/{'a' * 16 * n}> .\n" + "a:x a:y a:z .\n" * n
    ),
    "Turtle: a prefix of the longest kind": Input(
        "ttl", 70_000, lambda n: f"@prefix a: <http://x/{'a' * 1000}> .\n" + "a:x a:y a:z .\n" * n
    ),
    "Turtle: prefixes": Input("ttl", 30_000, lambda n: each(n, "@prefix a#: <http://x/#> .\n") + "a1:x a1:x a1:x ."),
    "Turtle: words like base": Input("ttl", 160_000, lambda n: "<a:s> <a:p> <b> .\n#" + "base\n#" * n),
    "Turtle: a number": Input("ttl", 1_000_000, lambda n: f"<a:s> <a:p> {'9' * n}, 1e{'9' * n} ."),
    "TriG: graphs": Input("trig", 45_000, lambda n: each(n, "<a:#>{<a:s> <a:p> 1}\n")),
    "N-Quads: graphs": Input("nq", 35_000, lambda n: each(n, "<a:s> <a:p> <a:o> <a:#> .\n")),
    "N-Triples: bad lines": Input("nt", 500_000, lambda n: "x\n" * n),
    "N-Triples: bytes": Input("nt", 500_000, lambda n: b"\xff\n" * n),
    "N-Triples: triple terms": Input("nt", 30_000, lambda n: "<a:s> <a:p> <<(<a:s> <a:p> <a:o>)>> .\n" * n),
    "RSS: open tags": Input("rss", 300_000, lambda n: rss("<item>" + "<a>" * n)),
    "RSS: open items": Input("rss", 160_000, lambda n: rss("<item>" * n)),
    "RSS: open tags in items": Input("rss", 60_000, lambda n: rss("<item><title></item>" * n)),
    "RSS: items of one id": Input("rss", 30_000, lambda n: rss("<item><guid>a</guid></item>" * n)),
    "RSS: namespaces and broken items": Input(
        "rss", 25_000, lambda n: rss("<item><a></item>" * n).replace("<rss", "<rss " + each(n, 'xmlns:a#="x:1" '))
    ),
    "RSS: a long link": Input(
        "rss", 12_000, lambda n: rss(f"<link>http://x/{'a/' * 20 * n}</link>" + "<item><link>../b</link></item>" * n)
    ),
    "RSS 1.0: blank nodes": Input(
        "rss",
        10_000,
        lambda n: rdf(each(n, '<item rdf:about="a:#"><x:p rdf:parseType="Resource"><x:q>#</x:q></x:p></item>')),
    ),
    "RSS 1.0: a blank node that all share": Input(
        "rss",
        8000,
        lambda n: rdf(
            each(n, '<item rdf:about="a:#"><x:p rdf:nodeID="b"/></item>')
            + f'<rdf:Description rdf:nodeID="b">{"<x:q>1</x:q>" * n}</rdf:Description>'
        ),
    ),
    "RSS 1.0: titles of the channel": Input(
        "rss",
        16_000,
        lambda n: rdf(
            f'<channel rdf:about="c:c">{each(n, "<title>#</title>")}</channel>' + each(n, '<item rdf:about="a:#"/>')
        ),
    ),
    "RSS 1.0: bad items among good ones": Input(
        "rss", 30_000, lambda n: rdf((each(511, '<item rdf:about="a:#"/>') + '<item rdf:ID="x y"/>') * (n // 512))
    ),
    "RSS 1.0: namespaces": Input("rss", 20_000, lambda n: rdf('<item rdf:ID="a b"/>' * n, each(n, ' xmlns:a#="x:1"'))),
    "Atom: authors": Input(
        "atom", 16_000, lambda n: atom("<author><name>x</name></author>" * n + each(n, "<entry><id>a:#</id></entry>"))
    ),
    "Atom: XHTML": Input(
        "atom",
        45_000,
        lambda n: atom(f'<entry><id>a:b</id><content type="xhtml">{"<b>" * n}{"</b>" * n}</content></entry>'),
    ),
    "RDF/XML: attributes": Input("rdf", 70_000, lambda n: rdf("<x:a " + each(n, 'x:a#="1" ') + "/>")),
    "RDF/XML: namespaces of markup": Input(
        "rdf",
        30_000,
        lambda n: rdf(f'<x:a><x:p rdf:parseType="Literal">{"<b/>" * n}</x:p></x:a>', each(n, ' xmlns:a#="x:1"')),
    ),
    "RDF/XML: a long base": Input(
        "rdf", 20_000, lambda n: rdf('<rdf:Description rdf:about="b"/>' * n, f' xml:base="http://x/{"a/" * 10 * n}"')
    ),
    "RDF/XML: siblings": Input("rdf", 150_000, lambda n: rdf("<x:a/>" * n)),
    "CSV: bad rows": Input("csv", 500_000, lambda n: HEADER + "x\n" * n),
    "CSV: empty cells": Input("csv", 200_000, lambda n: HEADER + "1,,,\n" * n),
    "CSV: no ids": Input("csv", 120_000, lambda n: HEADER + ",a,b,c\n" * n),
    "CSV: unknown prefixes": Input("csv", 80_000, lambda n: HEADER + each(n, "1,a:#,c,d\n")),
    "CSV: an open quote": Input("csv", 500_000, lambda n: HEADER + 'a,b,c,"\n' + "x\n" * n),
    "CSV: odd quotes": Input("csv", 200_000, lambda n: HEADER + '"x"y\n' * n),
    "CSV: bytes": Input("csv", 150_000, lambda n: HEADER.encode() + b"a,b,c,\xff\n" * n),
    "CSV: columns": Input("csv", 150_000, lambda n: HEADER[:-1] + each(n, ",x#") + "\na,b,c,d\n"),
    "CSV: a number": Input("csv", 1_000_000, lambda n: f"{HEADER}a,b,c,{'9' * n}\na,b,c,1e{'9' * n}\n"),
    "NDJSON: bad rows": Input("ndjson", 500_000, lambda n: "x\n" * n),
    "NDJSON: empty objects": Input("ndjson", 300_000, lambda n: "{}\n" * n),
    "NDJSON: open objects": Input("ndjson", 500_000, lambda n: "{\n" * n),
    "NDJSON: bad cells": Input("ndjson", 15_000, lambda n: (ROW + "{}}\n") * n),
    "NDJSON: keys": Input("ndjson", 80_000, lambda n: ROW + "1" + each(n, ',"k#":1') + "}\n"),
    "NDJSON: a key again and again": Input("ndjson", 90_000, lambda n: ROW + "1" + ',"object":1' * n + "}\n"),
    "NDJSON: depth": Input("ndjson", 500_000, lambda n: ROW + "[" * n + "]" * n + "}\n"),
    "NDJSON: a number": Input("ndjson", 1_000_000, lambda n: f"{ROW}{'9' * n}}}\n{ROW}1e{'9' * n}}}\n"),
}


class _Run:
    """What reading publications needs of a run."""

    def __init__(self) -> None:
        self.pace = Pace()


def seconds(name: str, size: int) -> float:
    """The time of this process that reading an input takes, with good files beside it, which must come through."""
    suffix, _, make = INPUTS[name]
    made = make(size)
    engine = Filter()
    engine.subscribe(("all", "ASK { ?s <a:good> ?o }"))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, f"input.{suffix}").write_bytes(made if isinstance(made, bytes) else made.encode())
        Path(folder, "a.nt").write_text("<a:s> <a:good> <a:o> .\n")
        Path(folder, "z.csv").write_text(HEADER + "last,x,<a:good>,y\n")
        run = cast("CommandRun", _Run())
        started = time.process_time()
        batches = list(read_publications(folder, engine.vocabulary, PREFIXES, run))
        found = [match for batch in batches for match in engine.publish(batch.items)]
        taken = time.process_time() - started
    assert [match.publication_id for match in found] == ["a.nt", "last"]
    assert all(len(rejection_report(batch.rejected)) <= 3 * (MOST_REPORTED + 1) for batch in batches)
    return taken


def main(name: str, size: int) -> None:
    """Reads an input of a size and of four times that; prints the times, and how much memory the larger one took."""
    small = seconds(name, size // 4)
    before = getrusage(RUSAGE_SELF).ru_maxrss
    large = seconds(name, size)
    print(json.dumps([small, large, (getrusage(RUSAGE_SELF).ru_maxrss - before) / 1024]))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
