"""Cells and events that nobody expects: each is taken as the embedded engines take it, or refused as they refuse it."""

from __future__ import annotations

ODD_CELLS: tuple[str | None, ...] = (
    *(None, "", "   ", "\x00", "a\x00b", "\n", "\ufeff", "\u202e", "\U0010ffff", "e\u0301", "é", "😀"),
    *("_:", "_:b", "_:b c", "<", "<>", "<urn:x>", "<urn:x y>", "a:b", "http://example.org/y", "%zz", "?x", "{}"),
    *('"', '"a', '"a"@', '"a"@en', '"a"^^', '"5"^^xsd:integer', '"x"^^xsd:integer', '"\\u0041"', '"\\ud800"'),
    *("1e400", "-0", "0x10", "NaN", "INF", "true", "9" * 400, "z" * 20_000),
)
"""Cells of triples: blanks and control signs, halves of terms, numbers at the limits, and what is very long."""

ODD_EVENTS: tuple[tuple[str | None, str | None, str | None], ...] = (
    *((id, "Pub", '{"age": 31}') for id in (None, "", " ", "\x00", "😀", "e" * 20_000)),
    *((f"from {who!r}", who, "{}") for who in (None, "", " Pub", "pub", "Nobody", "Adv")),
    *(
        (f"{number} with attributes", "Pub", text)
        for number, text in enumerate(
            (
                *(None, "", " ", "null", "[]", "1", '"x"', "{", "{}", '{"age": 31', "{'age': 31}", '{"age": NaN}'),
                *('{"age": 1e400}', '{"age": 31, "age": 1}', '{"age": "31"}', '{"age": [1, 31]}', '{"age": {"x": 1}}'),
                *(
                    '{"age": 31, "topic": "Sports"}',
                    '{"topic": "\\ud800"}',
                    '{"": 1}',
                    '{"age": true}',
                    '{"age": null}',
                ),
                *('{"age": ' + "9" * 400 + "}", '{"a": ' * 200 + "1" + "}" * 200, '{"age":31}\x00'),
            )
        )
    ),
)
"""Events without id, publisher or attributes, and with attributes that are no JSON, or odd JSON."""
