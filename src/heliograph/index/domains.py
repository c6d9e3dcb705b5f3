"""Where a term lies: every term has one domain and one coordinate in it, so that a condition on a single variable is a
set of intervals.

The law: within a domain, equal coordinates mean equal values unless a rounded one is among them; in the ordered domains
coordinates are monotone in the value. The coordinate in an unordered domain is the term's id.
"""

from __future__ import annotations

from enum import IntEnum


class Domain(IntEnum):
    IRI = 0  # by id
    BLANK = 1  # by id
    NUMBER = 2  # integers, decimals and doubles, by value; ROUNDED where the float64 is not the whole value
    NAN = 3  # doubles that are no number, coordinate 0
    BOOLEAN = 4  # 0 and 1
    TEXT = 5  # xsd:string and language-tagged, by id
    ODD = 6  # ill-typed literals and unknown datatypes, by id
    TIME = 7  # xsd:dateTime with a zone, microseconds since 1970
    LOCAL_TIME = 8  # xsd:dateTime without a zone
    DATE = 9
    LOCAL_DATE = 10
    FLOAT = 11  # xsd:float: promoted differently against each kind, so no interval decides

    # What is asked of a term rather than where it lies; the coordinate is the id of a class, or a hash of text.
    IS_A = 16
    DIRECT = 17  # direct instance: rdf:type, taxonomy rows included
    SUBCLASS_OF = 18
    SUPERCLASS_OF = 19
    WORD = 20  # a piece of the term's text (`text_keys`)
