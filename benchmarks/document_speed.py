"""Reading documents: RDF against the parser that it goes through, and items of a feed by the second.

Both count the processor's time of this process, so that a busy machine does not decide; everything runs on one core.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from pyoxigraph import RdfFormat, parse, serialize

from heliograph.io.documents import read_documents
from heliograph.io.sources import Source
from heliograph.vocabulary import Vocabulary

TRIPLES = 300_000
ITEMS = 50_000
_REPEATS = 5


def measure_ntriples(seed: int) -> float:
    """How many times as long it takes to read N-Triples, terms interned, as to iterate over pyoxigraph's parser."""
    return _ratio(ntriples(random.Random(seed), TRIPLES), ".nt", RdfFormat.N_TRIPLES)


def measure_turtle(seed: int) -> float:
    """The same for Turtle."""
    lines = ntriples(random.Random(seed), TRIPLES)
    turtle = serialize(parse(lines, format=RdfFormat.N_TRIPLES), format=RdfFormat.TURTLE) or b""
    return _ratio(turtle, ".ttl", RdfFormat.TURTLE)


def measure_rdf(seed: int) -> tuple[float, dict[str, float]]:
    """The worse of both, and both of them."""
    ratios = {"N-Triples": measure_ntriples(seed), "Turtle": measure_turtle(seed)}
    return max(ratios.values()), ratios


def measure_feed(seed: int) -> float:
    """Items of RSS 2.0 that are read in a second."""
    with _file(rss(random.Random(seed), ITEMS), ".rss") as source:
        return ITEMS / median(_seconds(lambda: _read(source)) for _ in range(_REPEATS))


# --- what is measured -------------------------------------------------------------------------------------------


def _read(source: Source) -> int:
    return sum(len(documents.publications.ids) for documents in read_documents([source], Vocabulary()))


def _iterate(source: Source, form: RdfFormat) -> None:
    assert source.path is not None
    for _ in parse(source.path.read_bytes(), format=form):
        pass


def _ratio(data: bytes, suffix: str, form: RdfFormat) -> float:
    with _file(data, suffix) as source:
        pairs = [(_seconds(lambda: _read(source)), _seconds(lambda: _iterate(source, form))) for _ in range(_REPEATS)]
    return median(pair[0] for pair in pairs) / median(pair[1] for pair in pairs)


def _seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


@contextmanager
def _file(data: bytes, suffix: str) -> Iterator[Source]:
    """A temporary file as a source."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "data" + suffix)
        path.write_bytes(data)
        yield Source(path, path.name)


# --- workloads --------------------------------------------------------------------------------------------------


def ntriples(draw: random.Random, count: int) -> bytes:
    """Descriptions of eight triples each: a type, a number, words, a name of its own, and links to things known."""
    return "".join(_descriptions(draw, count // 8)).encode()


def _descriptions(draw: random.Random, count: int) -> Iterator[str]:
    properties = [f"<http://example.org/vocabulary#property{number}>" for number in range(30)]
    classes = [f"<http://example.org/vocabulary#Class{number}>" for number in range(100)]
    words = [f'"some words, the {number}th of them"@en' for number in range(5_000)]
    rdf_type = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    integer = "^^<http://www.w3.org/2001/XMLSchema#integer>"
    for number in range(count):
        subject = f"<http://example.org/resource/{number}>"
        objects = [f"<http://example.org/resource/{draw.randrange(number + 1)}>" for _ in range(4)]
        objects += [f'"{draw.randrange(2000)}"{integer}', draw.choice(words), f'"name of number {number}"']
        yield f"{subject} {rdf_type} {draw.choice(classes)} .\n"
        yield "".join(f"{subject} {draw.choice(properties)} {value} .\n" for value in objects)


def rss(draw: random.Random, items: int) -> bytes:
    """A feed whose items have eight children each."""
    words = [f"word{number}" for number in range(3_000)]
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/">'
    channel = "<channel><title>News</title><link>https://news.example.org/</link><description>All of it</description>"
    body = (_item(draw, words, number) for number in range(items))
    return "\n".join((head, channel, *body, "</channel></rss>")).encode()


def _item(draw: random.Random, words: list[str], number: int) -> str:
    def some(count: int) -> str:
        return " ".join(draw.choices(words, k=count))

    date = f"{1 + number % 28:02d} Nov 2026 {number % 24:02d}:{number % 60:02d}:{number // 60 % 60:02d} +0100"
    return f"""<item>
  <title>{some(8)} {number}</title>
  <link>https://news.example.org/2026/11/{number}</link>
  <description><![CDATA[<p>{some(40)} &amp; more</p>]]></description>
  <pubDate>Sun, {date}</pubDate>
  <guid isPermaLink="false">tag:example.org,2026:{number}</guid>
  <dc:creator>{some(2)}</dc:creator>
  <category>{draw.choice(words[:50])}</category>
  <category>{draw.choice(words[:50])}</category>
</item>"""
