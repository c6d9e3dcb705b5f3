"""Names that nobody uses, and the known ones that come near."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.filter.encode import encode
from heliograph.lint.cost import LOOKED_AT, DataSample
from heliograph.lint.queries import NameCheck, Spellings, distance
from heliograph.sparql.templates import parse_sparql
from heliograph.taxonomy import Taxonomy
from heliograph.terms import PREFIXES, RDFS_MEMBER, iri, plain_name
from heliograph.vocabulary import Vocabulary

TAXONOMY = Taxonomy.read([("Journal", "Publication")])
DOCUMENT = [
    ("P", "author", "Arno"),
    ("P", "<http://example.org/ns#title>", '"x"'),
    ("P", "rdf:_1", "Q"),
    ("P", "a", "Paper"),
    ("Paper", "rdfs:subClassOf", "Document"),
]


def sample(*documents: list[tuple[str, str, str]], taxonomy: Taxonomy = TAXONOMY) -> DataSample:
    made = DataSample(taxonomy)
    for number, document in enumerate(documents):
        made.learn(encode((f"d{number}", document), Vocabulary(), PREFIXES).publications)
    return made


def unseen(body: str, names: NameCheck) -> list[tuple[str, str | None]]:
    return [(code, nearest) for code, _, nearest in names.unseen(parse_sparql(f"ASK {{ {body} }}"))]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("?x :author ?y ; <http://example.org/ns#title> ?t ; rdfs:member ?m ; a ?c", []),
        ("?x :auther ?y", [("HG-717", "author")]),
        ("?x :Author ?y", [("HG-717", "author")]),
        ("?x <https://example.org/ns#title> ?y", [("HG-717", "<http://example.org/ns#title>")]),
        ("?x <http://example.org/ns#title/> ?y", [("HG-717", "<http://example.org/ns#title>")]),
        ("?x dc:title ?y", [("HG-717", "<http://example.org/ns#title>")]),
        ("?x :price ?y", [("HG-717", None)]),
        ("?x ?p ?y FILTER(?p IN (:author, :auther))", [("HG-717", "author")]),
        ("?x ?p ?y VALUES (?p ?y) { (:autor 1) (UNDEF 2) }", [("HG-717", "author")]),
        ("?x ?p ?y FILTER(?y = :auther)", []),
        ("?x a :Paper . ?x a/rdfs:subClassOf* :Document . ?x a :Journal", []),
        ("?x a :Papper", [("HG-718", "Paper")]),
        ("?x a/rdfs:subClassOf* :Jurnal", [("HG-718", "Journal")]),
        (":Documents rdfs:subClassOf+ ?y", [("HG-718", "Document")]),
        ("?x a ?c FILTER(?c = :Elephant)", [("HG-718", None)]),
        ('?x a "Paper"', []),
    ],
)
def test_with_a_sample(body: str, found: list[tuple[str, str | None]]) -> None:
    assert unseen(body, NameCheck(TAXONOMY, sample(DOCUMENT))) == found


def test_without_a_sample_only_what_looks_like_the_taxonomy() -> None:
    names = NameCheck(TAXONOMY, None)
    assert unseen("?x :auther ?y . ?x a :Jornal . ?x a :Elephant", names) == [("HG-718", "Journal")]
    [message] = [said for _, said, _ in names.unseen(parse_sparql("ASK { ?x a :Jornal }"))]
    assert message == "nothing in the taxonomy has to do with the class Jornal; did you mean Journal? (its spelling)"


def test_a_type_is_unseen_where_nothing_has_one() -> None:
    nothing = Taxonomy()
    names = NameCheck(nothing, sample([("P", "author", "Arno")], taxonomy=nothing))
    assert unseen("?x a :C", names) == [("HG-717", None), ("HG-718", None)]


def test_a_sample_keeps_a_few_publications_and_counts_all() -> None:
    made = DataSample(Taxonomy())
    batch = encode([(f"d{n}", [("a", "p", str(n))]) for n in range(LOOKED_AT + 50)], Vocabulary(), PREFIXES)
    made.learn(batch.publications)
    made.learn(batch.publications)
    assert (made.size, len(made.publications)) == (2 * LOOKED_AT + 100, LOOKED_AT)
    assert made.properties[plain_name("p")] == 2 * LOOKED_AT + 100
    assert not made.properties[RDFS_MEMBER]


# --- spelling ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_name", "known", "how"),
    [
        ("http://a.org/x", "https://a.org/x", "http or https"),
        ("http://a.org/x", "http://a.org/x/", "the sign at the end"),
        ("http://a.org/x#", "http://a.org/x", "the sign at the end"),
        ("http://a.org/firstName", "http://a.org/firstname", "upper or lower case"),
        ("http://a.org/first_name", "https://www.a.org/firstName", "its spelling"),
        ("http://a.org/creator", "http://b.org/creator", "another namespace"),
        ("http://a.org/craetor", "http://a.org/creator", "its spelling"),
    ],
)
def test_how_names_differ(given_name: str, known: str, how: str) -> None:
    near = Spellings([iri("http://elsewhere.org/entirely"), iri(known)]).nearest(iri(given_name))
    assert near is not None
    assert (near.term.value, near.how) == (known, how)


def test_the_same_namespace_is_preferred() -> None:
    some = [iri("http://b.org/creator"), iri("http://a.org/creator")]
    near = Spellings(some).nearest(iri("http://a.org/creater"))
    assert near is not None
    assert near.term == some[1]


def test_short_names_must_agree() -> None:
    assert Spellings([plain_name("cat")]).nearest(plain_name("car")) is None


def naive_distance(one: str, other: str) -> int:
    """Optimal string alignment, by recursion."""
    if not one or not other:
        return len(one) + len(other)
    ways = [
        naive_distance(one[1:], other) + 1,
        naive_distance(one, other[1:]) + 1,
        naive_distance(one[1:], other[1:]) + (one[0] != other[0]),
    ]
    if len(one) > 1 and len(other) > 1 and one[:2] == other[1::-1]:
        ways.append(naive_distance(one[2:], other[2:]) + 1)
    return min(ways)


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_distances(one: str, other: str) -> None:
    assert distance(one, other) == naive_distance(one, other) == distance(other, one)


@given(st.text("abcdef", min_size=8, max_size=12), st.data())
def test_two_wrong_letters_are_forgiven(name: str, data: st.DataObject) -> None:
    wrong = list(name)
    for _ in range(2):
        wrong[data.draw(st.integers(0, len(wrong) - 1))] = data.draw(st.sampled_from("abcdefxyz"))
    known = plain_name(name)
    near = Spellings([known, plain_name("something else entirely")]).nearest(plain_name("".join(wrong)))
    assert near is not None
    assert near.term == known
