"""Scenes of a filter: random sets of subscriptions of every kind, which come and go, and documents that match many.

The ways: naive is what the others are held against: indexed, auto that changes to the index anywhere, another of the
seeds' algorithms, one of the schemes of shards, some subscriptions alone in an engine of their own; with saves between.
pyoxigraph is asked too where the scene is *tame*: it holds nothing that pyoxigraph answers otherwise by name.

A *bulk* is a publish of so many documents that counts and positions reach the limits of their types. Whether a document
matches depends on nothing beside it, so what is to be told of a bulk follows from its few different documents.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from random import Random
from typing import Any

from heliograph import Filter
from heliograph.filter import segment as segments
from heliograph.filter import strategy as auto
from tests.filter import oxigraph
from tests.filter.conditions import CLASSES, NAMES, PROPERTIES, TAME, WILD, Palette, token
from tests.filter.schemes import SCHEMES
from tests.fuzz.scene import (
    Act,
    Difference,
    Program,
    Scene,
    Spelled,
    Told,
    attempt,
    codes,
    compare,
    patched,
    script,
    spell,
)

Cells = tuple[str, str, str]
Document = list[Cells]

# Around what 16 bits hold: as it is, signed, and divided by the two or three places that a solution takes.
LIMITS = (10_922, 10_923, 10_924, 16_383, 16_384, 16_385)
LARGE_LIMITS = (32_767, 32_768, 32_769, 65_535, 65_536, 65_537)
MANY = 100_000  # rows of evidence


# --- documents --------------------------------------------------------------------------------------------------

_TEXTS = ('"a"', '"ab"', '"Ab"', '""', '"a"@en', '"ab"@EN', '"ab"@fr', '"é"', '"abcab"', '"xabc"@en', '"ABCé"')
_BOOLEANS = ("true", "false", '"1"^^xsd:boolean')
_ODD = ('"x"^^xsd:integer', '"x"^^<urn:t>', '"y"^^<urn:t>', '"2020"^^xsd:gYear')
_SUBJECTS = (*NAMES * 2, *CLASSES, "_:b0", "_:b1", "p")
_LINKS = (*PROPERTIES * 3, "a", "a", "rdfs:subClassOf", "rdf:_1", "rdf:_2", "rdfs:member")


class _Drawing:
    """A scene as it grows."""

    def __init__(self, r: Random, palette: Palette) -> None:
        self.r, self.palette = r, palette
        self.acts: list[Act] = []
        self.ids: list[str] = []
        self.number, self.published = 0, 0
        self.taxonomy = [
            (r.choice(NAMES + CLASSES), r.choice(CLASSES + NAMES[:1])) for _ in range(r.choice((0, 0, 2, 5)))
        ]
        self.documents = [self.document(9) for _ in range(r.randint(2, 8))]

    def literal(self) -> str:
        families = (self.palette.numbers, self.palette.numbers, self.palette.moments, _TEXTS, _BOOLEANS, _ODD)
        return self.r.choice(self.r.choice(families))

    def ordered(self) -> str:
        """A literal that may stand beside `<`."""
        if self.palette.wild:
            return self.literal()
        return self.r.choice(self.r.choice((self.palette.numbers, self.palette.numbers, self.palette.moments, _TEXTS)))

    def document(self, most: int) -> Document:
        r = self.r
        objects = [self.literal() if r.random() < 0.4 else r.choice(_SUBJECTS) for _ in range(r.randint(1, most))]
        return [(r.choice(_SUBJECTS), r.choice(_LINKS), each) for each in objects]

    # --- queries ------------------------------------------------------------------------------------------------

    def edges(self) -> list[list[str]]:
        """Edges of a document with some terms turned into variables, so that they have a solution; or any."""
        r = self.r
        document = r.choice(self.documents)
        taken = r.sample(document, min(len(document), r.choice((1, 1, 2, 2, 3, 4, 6))))
        if r.random() < 0.2:
            taken = [*taken[:3], *self.document(2)]
        names: dict[str, str] = {}
        hidden = r.choice((0.3, 0.7, 0.9))
        for subject, _, object in taken:
            for cell in (subject, object):
                if cell not in names:
                    turned = cell.startswith("_:") or r.random() < hidden
                    label = r.choice(("?v", "?v", "?v", "?v", "_:n")) + str(len(names))
                    names[cell] = label if turned else token(cell)
        made = []
        for subject, link, object in taken:
            property = f"?p{r.randint(0, 1)}" if r.random() < 0.1 else token(link)
            head = (
                names[subject]
                if not names[subject].startswith(('"', "-")) and not names[subject][0].isdigit()
                else "?l"
            )
            made.append([head, property, names[object]])
        if r.random() < 0.2:
            relation = r.choice(("a/rdfs:subClassOf*", "a", "rdfs:subClassOf+"))
            ends = [
                r.choice([node for edge in made for node in (edge[0], edge[2]) if node[0] in "?_"] or ["?k"]),
                token(r.choice(CLASSES)),
            ]
            if relation != "a" and r.random() < 0.2:
                ends.reverse()
            made.append([ends[0], relation, ends[1]])
        return made

    def condition(self, variables: list[str], depth: int = 2) -> str:
        r, one = self.r, self.r.choice(variables)
        other, kind = r.choice(variables), r.random()
        order = r.choice(("<", "<=", ">", ">="))
        if depth and kind < 0.2:
            parts = [self.condition(variables, depth - 1) for _ in range(2)]
            return "(" + r.choice((" && ", " || ")).join(parts) + ")"
        if depth and kind < 0.26 and self.palette.wild:
            return f"!({self.condition(variables, depth - 1)})"
        if kind < 0.45:
            return r.choice(
                (f"{one} {order} {self.ordered()}", f"{one} > {self.ordered()} && {one} <= {self.ordered()}")
            )
        if kind < 0.55:
            cells = ", ".join(self.constant() for _ in range(r.randint(1, 4)))
            words = "NOT IN" if self.palette.wild and r.random() < 0.3 else "IN"
            return f"{one} {words} ({cells})"
        if kind < 0.62:
            constant = self.constant() if self.palette.wild else token(r.choice(NAMES))
            return f"{one} {r.choice(('=', '!='))} {constant}"
        if kind < 0.8:
            text = r.choice((one, f"STR({one})"))
            piece = r.choice(('"a"', '"b"', '""', '"é"', '"urn:heliograph:A"', '"abc"', '"cab"', '"1"'))
            name = r.choice(("CONTAINS", "STRSTARTS", "STRENDS", "REGEX", "EQUAL"))
            if name == "EQUAL":
                return f"STR({one}) = STR({other})" if self.palette.wild else f"isIRI({one})"
            if name == "REGEX":
                flags = r.choice(("", ', "i"'))
                wanted = r.choice(('"^a"', '"B$"', '"a|é"', '"."', '"^urn:.*:[AK]$"', '"abc*a?b"'))
                return f"REGEX({text}, {wanted}{flags})"
            return f"{name}({text}, {piece})"
        if kind < 0.9:
            asked = (
                "isIRI({0})",
                "isLiteral({0})",
                "BOUND({0})",
                'LANG({0}) = "en"',
                "DATATYPE({0}) = xsd:integer",
                'STR({0}) = "a"',
            )
            return r.choice(asked).format(one)
        if not self.palette.wild:
            return r.choice(
                (f"(isIRI({one}) && {one} != {other})", f"{one} + 2 {order} {r.choice(self.palette.numbers)}")
            )
        sign = r.choice("+-*")
        return r.choice(
            (
                f"{one} {r.choice(('=', '!=', '<', '>='))} {other}",
                f"{one} {sign} 2 {order} {r.choice(self.palette.numbers)}",
                f"-{one} / {other} {order} {one} {sign} {other}",
            )
        )

    def constant(self) -> str:
        return self.literal() if self.r.random() < 0.5 else token(self.r.choice(NAMES + CLASSES + PROPERTIES))

    def body(self) -> tuple[list[list[str]], list[str]]:
        """Edges, and what else stands in a query."""
        r, edges = self.r, self.edges()
        variables = _variables(edges)
        parts = []
        if variables and r.random() < 0.55:
            parts.append(f"FILTER({self.condition(variables)})")
        if variables and r.random() < 0.15:
            over = r.sample([*variables, "?k"], min(len(variables) + 1, r.randint(1, 2)))
            cells = [
                " ".join(self.constant() if r.random() < 0.8 else "UNDEF" for _ in over) for _ in range(r.randint(1, 3))
            ]
            parts.append(f"VALUES ({' '.join(over)}) {{ {' '.join(f'({row})' for row in cells)} }}")
        return edges, parts

    def form(self, text: str, variables: list[str]) -> str:
        r = self.r
        if not variables or r.random() < 0.5:
            return f"ASK {{ {text} }}"
        one = r.choice(variables)
        having = f"HAVING (COUNT(*) {r.choice(('>=', '>', '<', '='))} {r.randint(0, 3)})"
        return r.choice(
            (
                f"SELECT * {{ {text} }}",
                f"SELECT DISTINCT {one} {{ {text} }}",
                f"SELECT {one} {{ {text} }}",
                f"SELECT (COUNT(*) AS ?total) {{ {text} }} {having}",
                f"SELECT {one} (COUNT(*) AS ?total) {{ {text} }} GROUP BY {one} {having}",
                f"ASK {{ {text} }} {having}",
            )
        )

    def texts(self, count: int) -> list[str]:
        """Queries of their own, or a family: one structure with other names and other conditions."""
        r = self.r
        if r.random() < 0.5:
            found = []
            for _ in range(count):
                edges, parts = self.body()
                found.append(self.form(_spelled(edges, parts), _variables(edges)))
            return found
        edges, parts = self.body()
        variables = _variables(edges)
        found = []
        for number in range(count):
            own = [*parts, f"FILTER({self.condition(variables, 1)})"] if variables and r.random() < 0.7 else parts
            order = edges[::-1] if r.random() < 0.3 else edges
            text = self.form(_spelled(order, own), variables)
            found.append(text.replace("?v", f"?w{number}x") if r.random() < 0.5 else text)
        return found

    # --- acts ---------------------------------------------------------------------------------------------------

    def subscribe(self, count: int) -> None:
        rows = []
        for text in self.texts(count):
            if self.ids and self.r.random() < 0.07:
                id = self.r.choice(self.ids)
            else:
                self.number += 1
                id = f"s{self.number}"
                self.ids.append(id)
            rows.append((id, text))
        self.acts.append(("subscribe", rows))

    def unsubscribe(self) -> None:
        count = min(len(self.ids), self.r.choice((1, 1, 2, 5)))
        gone = [self.ids.pop(self.r.randrange(len(self.ids))) for _ in range(count)]
        self.acts.append(("unsubscribe", gone))

    def publish(self) -> None:
        r, chosen = self.r, []
        for _ in range(r.choice((1, 1, 2, 3, 8, 20))):
            self.published += 1
            document = r.choice(self.documents) if r.random() < 0.8 else self.document(9)
            chosen.append((f"d{self.published}", list(document)))
        self.acts.append(("publish", {"documents": chosen, "bindings": r.choice((0, 0, 1, 3, MANY))}))

    def bulk(self) -> None:
        """So many documents: one of a few in turn, or always the same but for a few places."""
        r = self.r
        limit = r.choice(LIMITS if r.random() < 0.8 else LARGE_LIMITS)
        pool = [
            document[: r.randint(1, 3)]
            for document in r.sample(self.documents, min(len(self.documents), r.randint(2, 4)))
        ]
        near = {
            str(
                r.choice((limit - 1, limit - 2, limit - 3, 0, 1, r.randrange(limit), 10_922, 32_768)) % limit
            ): r.randrange(len(pool))
            for _ in range(4)
        }
        self.acts.append(
            (
                "bulk",
                {
                    "documents": pool,
                    "count": limit,
                    "cycle": r.random() < 0.3,
                    "places": near,
                    "bindings": 1 if r.random() < 0.1 and limit < 20_000 else 0,
                },
            )
        )


def _variables(edges: list[list[str]]) -> list[str]:
    return list(dict.fromkeys(node for edge in edges for node in edge if node.startswith("?")))


def _spelled(edges: list[list[str]], parts: list[str]) -> str:
    return " ".join([*(" ".join(edge) + " ." for edge in edges), *parts])


def draw(seed: int) -> Scene:
    r = Random(seed)
    tame = r.random() < 0.3
    drawing = _Drawing(r, TAME if tame else WILD)
    large = r.random() < 0.05
    if large:
        for _ in range(r.randint(1, 3)):
            drawing.subscribe(1)
        drawing.bulk()
    else:
        drawing.subscribe(r.choice((1, 4, 12)) if r.random() < 0.9 else 40)
    for _ in range(r.randint(1, 3) if large else r.randint(2, 10)):
        chance = r.random()
        if chance < 0.25 or not drawing.ids:
            drawing.subscribe(r.choice((1, 1, 3, 8)))
        elif chance < 0.4:
            drawing.unsubscribe()
        elif chance < 0.5:
            drawing.acts.append(("save", None))
        else:
            drawing.publish()
    drawing.publish()
    settings: dict[str, Any] = {"taxonomy": drawing.taxonomy, "tame": tame}
    if r.random() < 0.2:
        settings["merge"] = r.choice((1, 4, 20))  # subscriptions from which on a merge goes on in the background
    return Scene("filter", seed, settings, drawing.acts)


# --- playing ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Way:
    """How a scene is played; `pairs` are those after which auto changes to the index."""

    name: str
    given: dict[str, Any]
    saves: bool = False
    singly: bool = False
    pairs: int | None = None
    only: frozenset[str] | None = None


def ways(scene: Scene) -> tuple[Way, list[Way]]:
    r = Random(scene.seed ^ 0x5EED)
    bulky = any(kind == "bulk" for kind, _ in scene.acts)
    scheme, seed = r.choice(list(SCHEMES)), r.choice(("ops", "gtopss", "rss"))
    some = [
        Way("auto", {"algorithm": "auto"}, saves=True, pairs=r.choice((0, 10, 100, 1000))),
        Way(scheme, SCHEMES[scheme], saves=r.random() < 0.5),
    ]
    if not bulky:
        some.append(Way(seed, {"algorithm": seed}, saves=r.random() < 0.3))
        some.append(Way("indexed-singly", {"algorithm": "indexed"}, saves=True, singly=True))
    others = [Way("indexed", {"algorithm": "indexed"}), *r.sample(some, 1 if bulky else 2)]
    ids = sorted({id for kind, rows in scene.acts if kind == "subscribe" for id, _ in rows})
    alone = r.sample(ids, 1 if bulky else min(2, len(ids))) if len(ids) > 1 else []
    others += [Way(f"alone {id}", {"algorithm": "indexed"}, only=frozenset([id])) for id in alone]
    return Way("naive", {"algorithm": "naive"}), others


def play(scene: Scene, way: Way) -> tuple[list[Told], Program]:
    told, changes = list[Told](), list[Any]()
    if "merge" in scene.settings:
        changes.append((segments, "LARGE", scene.settings["merge"]))
    if way.pairs is not None:
        changes += [(auto, "PAIRS", way.pairs), (auto, "COLD", 1)]
    with patched(*changes) as prelude, tempfile.TemporaryDirectory() as folder:
        program = Program(Filter, scene.settings.get("taxonomy"), prelude=prelude, **way.given)
        for kind, what in scene.acts:
            if kind == "save" and way.saves:
                program.reload(folder)
            told.append(attempt(lambda: _do(program, way, kind, what)))  # noqa: B023
            if told[-1].raised:
                break
    return told, program


def _do(program: Program, way: Way, kind: str, what: Any) -> Told:
    if kind == "subscribe":
        rows = [row for row in what if way.only is None or row[0] in way.only]
        return Told([], codes(program.call("subscribe", rows).rejected))
    if kind == "unsubscribe":
        ids = [id for id in what if way.only is None or id in way.only]
        return Told([], codes(program.call("unsubscribe", ids).rejected))
    if kind == "bulk":
        return _bulk(program, way, what)
    if kind == "publish":
        sizes = [1] * len(what["documents"]) if way.singly else None
        return _published(program, what["documents"], what["bindings"], sizes)
    return Told([])


def _published(program: Program, documents: Any, bindings: int, sizes: list[int] | None = None) -> Told:
    found = program.publish(documents, sizes, bindings=bindings)
    lines = [(n.publication_id, n.subscription_id, n.evidence) for each in found for n in each]
    return Told(lines, [code for each in found for code in codes(each.rejected)])


def _bulk(program: Program, way: Way, bulk: dict[str, Any]) -> Told:
    """All documents of a bulk; naive is asked about the different ones alone."""
    pool, size = bulk["documents"], max(1, len(bulk["documents"]))
    places = {int(place): number % size for place, number in bulk["places"].items()}
    count = bulk["count"] if pool else 0
    chosen = [places.get(place, place % size if bulk["cycle"] else 0) for place in range(count)]
    if way.name != "naive":
        usual = f"n % {size}" if bulk["cycle"] else "0"
        text = f"[(f'd{{n}}', {spell(pool)}[{places}.get(n, {usual})]) for n in range({count})]"
        rows = Spelled(((f"d{place}", pool[each]) for place, each in enumerate(chosen)), text)
        return _published(program, rows, bulk["bindings"])
    verdicts = [_published(program, [("d", document)], bulk["bindings"]).lines for document in pool]
    return Told([(f"d{place}", id, shown) for place, each in enumerate(chosen) for _, id, shown in verdicts[each]])


def check(scene: Scene) -> Difference | None:
    expected, program, difference = compare(scene, play, ways(scene), _of)
    return difference or _check_oracle(scene, program, expected)


def _of(told: Told, kind: str, only: frozenset[str]) -> Told:
    if told.raised:
        return told
    return Told([line for line in told.lines if line[1] in only])


def _check_oracle(scene: Scene, program: Program, expected: list[Told]) -> Difference | None:
    """pyoxigraph about each document of a tame scene."""
    if not scene.settings.get("tame") or any(told.raised for told in expected):
        return None
    engine = Filter(scene.settings.get("taxonomy"), algorithm="naive")
    for number, (kind, what) in enumerate(scene.acts):
        if kind in ("subscribe", "unsubscribe"):
            getattr(engine, kind)(what)
        if kind != "publish":
            continue
        told: dict[str, list[Any]] = {}
        for id, *line in expected[number].lines:
            told.setdefault(id, []).append(line)
        for id, document in what["documents"][:5]:
            store = oxigraph.store(document, scene.settings.get("taxonomy") or ())
            for each in engine._subscriptions:
                rows = oxigraph.bindings(store, each.query)
                lines = [line for line in told.get(id, []) if line[0] == each.id]
                shown = json.loads(lines[0][1]).get("bindings") if lines and lines[0][1] else None
                exact = shown is not None and what["bindings"] == MANY and not each.query.counted
                found = {frozenset(row.items()) for row in shown or ()} if exact else bool(lines)
                if found != (rows if exact else bool(rows)):
                    wanted, got = Told([(id, each.id, rows)]), Told([(id, each.id, found)])
                    return Difference("oracle", number, wanted, got, script(program, program))
    return None
