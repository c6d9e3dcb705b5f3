"""A place in the tokens of a query: what the parsers read from, and where every error gets its line and column.

When a shape is being learnt, the cursor also keeps the record of which constants the parser looked at (they belong to
the shape) and which it merely passed on (they are slots, to be filled for the next text of that shape).
"""

from __future__ import annotations

from heliograph.errors import SparqlError
from heliograph.syntax.nodes import Problem, Role, Scope
from heliograph.syntax.query import Node
from heliograph.syntax.refusals import Refusal, near
from heliograph.syntax.tokens import NODES, Tokens, position, problem
from heliograph.terms import Variable

MAX_NESTING = 64  # of brackets of any kind; Python's own stack holds about four times as many

END = "the end of the query"

_SLOT = "\0"


class Record:
    """What the parser did with each constant of a text: `roles` of the slots, and the `pinned` ones it looked at."""

    def __init__(self, starts: list[int]) -> None:
        self.numbers = {start: number for number, start in enumerate(starts)}
        self.roles: dict[int, Role] = {}
        self.signed: list[tuple[str, int]] = []  # further constants: a sign and the number of the constant behind it

    def slot(self, start: int, role: Role) -> Variable:
        number = self.numbers[start]
        self.roles[number] = role
        return Variable(f"{_SLOT}{number}")

    def signed_slot(self, sign: str, start: int) -> Variable:
        self.signed.append((sign, self.numbers[start]))
        return Variable(f"{_SLOT}{len(self.numbers) + len(self.signed) - 1}")


def slot_number(node: object) -> int | None:
    """The number of the slot that a node of a learnt query stands for; None for a node of its own."""
    return int(node.name[1:]) if isinstance(node, Variable) and node.name[:1] == _SLOT else None


class Cursor:
    """The tokens of one text, the place in them, and the prologue in force."""

    def __init__(self, tokens: Tokens, scope: Scope, verb: str, record: Record | None = None) -> None:
        self.text, self.kinds, self.words, self.starts = tokens
        self.scope = scope
        self.verb = verb
        self.record = record
        self.at = 0
        self.nesting = 0
        self.anonymous = 0

    # --- moving -------------------------------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        return self.kinds[self.at]

    @property
    def word(self) -> str:
        return self.words[self.at]

    def ahead(self, steps: int = 1) -> str:
        """The kind of a later token; `end` behind the last one."""
        return self.kinds[min(self.at + steps, len(self.kinds) - 1)]

    def accept(self, kind: str) -> bool:
        """Steps over the token if it is of this kind."""
        if self.kinds[self.at] != kind:
            return False
        self.at += 1
        return True

    def expect(self, kind: str, wanted: str) -> None:
        if self.kinds[self.at] != kind:
            raise self.unexpected(wanted)
        self.at += 1

    def close(self, kind: str, opened: int) -> None:
        """Steps over a closing bracket; its absence names the bracket that was `opened`."""
        if self.kinds[self.at] != kind:
            line, column = position(self.text, self.starts[opened])
            raise self.unexpected(f"{kind} to close the {self.words[opened]} of line {line}, column {column}")
        self.at += 1

    def deeper(self) -> None:
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            raise self.error("HG-405", f"more than {MAX_NESTING} brackets within each other", fix="flatten the query")

    def shallower(self) -> None:
        self.nesting -= 1

    # --- nodes --------------------------------------------------------------------------------------------------

    def node(self, role: Role) -> Node:
        """Reads a node token in a role; a slot when a shape is being learnt."""
        at = self.at
        node = self.fixed(role)
        return node if self.record is None else self.record.slot(self.starts[at], role)

    def fixed(self, role: Role) -> Node:
        """Reads a node token whose value decides how parsing goes on: it belongs to the shape, never a slot."""
        at = self.at
        if self.kinds[at] not in NODES:
            raise self.unexpected(role.wanted)
        try:
            node = self.scope.read(role, self.words[at])
        except Problem as found:
            raise self.trouble(found) from None
        self.at = at + 1
        return node

    def signed_number(self) -> Node:
        """Reads a sign and the number that adjoins it."""
        sign, start = self.word, self.starts[self.at + 1]
        node = self.scope.read(Role.NUMBER, sign + self.words[self.at + 1])
        self.at += 2
        return node if self.record is None else self.record.signed_slot(sign, start)

    def at_signed_number(self, at: int | None = None) -> bool:
        """Whether a sign stands here, with a number that follows it without a space."""
        here = self.at if at is None else at
        if self.kinds[here] not in ("+", "-") or self.kinds[here + 1] != "number":
            return False
        return self.starts[here] + 1 == self.starts[here + 1]

    def fresh(self) -> Variable:
        """A hidden variable for a blank node without a label; no label can be spelt like it."""
        self.anonymous += 1
        return Variable(f"_:[{self.anonymous}]")

    # --- errors -------------------------------------------------------------------------------------------------

    def error(self, code: str, message: str, *, fix: str, at: int | None = None) -> SparqlError:
        index = self.at if at is None else at
        length = max(1, len(self.words[index]))
        return problem(self.text, self.starts[index], code, message, fix=fix, length=length)

    def trouble(self, found: Problem, at: int | None = None) -> SparqlError:
        return self.error(found.code, found.message, fix=found.fix, at=at)

    def unexpected(self, wanted: str) -> SparqlError:
        found = "the text ends" if self.kind == "end" else f"found {_short(self.word)}"
        fix = self._hint() or ("remove it" if wanted == END else f"write {wanted}")
        return self.error("HG-400", f"{found}, expected {wanted}", fix=fix)

    def refused(self, refusal: Refusal, at: int | None = None) -> SparqlError:
        return self.error(refusal.code, f"{refusal.name} is not supported", fix=refusal.fix, at=at)

    def _hint(self) -> str | None:
        """A fix for mistakes that other languages teach."""
        if self.kind in _HINTS:
            return _HINTS[self.kind]
        if self.kind == "=" and self.kinds[self.at - 1] == "=":
            return "equality is a single ="
        if self.word == "<>":
            return "write != for unequal"
        if self.kind == "iri" and not self.word[1:2].isalpha():
            return "write spaces around < and > where they compare"
        word = near(self.word) if self.word.isalpha() else None
        return f"did you mean {word}?" if word and word.upper() != self.kind else None


_HINTS = {
    "AND": "write && for and",
    "OR": "write || for or",
    "INF": 'infinity is written "INF"^^xsd:double',
    ",": "write no commas between variables, and one between arguments",
    "<": "close an IRI with >, and percent-encode the spaces inside",
}


def _short(text: str, limit: int = 40) -> str:
    return text if len(text) <= limit else text[:limit] + "…"
