"""Where the items of a feed lie in its bytes, however broken it is.

Items that follow each other with nothing but space between are a run. `run` finds one at the speed of a substring
search and may be fooled by sections and comments that hold tags; the parser then finds another number of items.
`careful_run` is not fooled, and it ends an item that was never closed where the next one begins: so one broken item
takes no other with it. A section, comment or instruction that holds an item's start tag and then opens once more was
never closed.

Both take time linear in the size of the file: searches for what closes something are remembered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from heliograph.feeds.opening import Bytes

RUN_ITEMS = 32  # items that are parsed together; at this number their elements still lie in the processor's cache
RUN_BYTES = 1 << 18

_SECTIONS = {b"<![CDATA[": b"]]>", b"<!--": b"-->", b"<?": b"?>"}
_SPACE = re.compile(rb"[ \t\r\n]*")


class Span(NamedTuple):
    """The bytes of one item."""

    start: int
    end: int


class Items:
    """Finds the items of a feed by the names of their elements; `parents` are those that items stand in."""

    def __init__(self, data: Bytes, names: Sequence[bytes], parents: Sequence[bytes]) -> None:
        self._data = data
        self._close = b"</" + names[0] + b">"
        item = b"(?:%b)" % b"|".join(map(re.escape, names))
        parent = b"(?:%b)" % b"|".join(map(re.escape, parents))
        self._start = re.compile(rb"<%b(?=[\s/>])" % item)
        self._start_tag = re.compile(rb"""<%b(?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+>""" % item)
        self._token = re.compile(  # a pattern that begins with one character is searched for at memory's speed
            rb"<(?:(?P<section>!\[CDATA\[|!--|\?)|(?P<start>%b)(?=[\s/>])|(?P<end>/%b\s*>)|(?P<leave>/%b\s*>))"
            % (item, item, parent)
        )
        self._found: dict[bytes, tuple[int, int]] = {}

    # --- the usual case -----------------------------------------------------------------------------------------

    def next_start(self, position: int) -> int:
        """Where the next item begins at or after `position`, which is in no item; -1 if there is none."""
        match = self._start.search(self._data, position)
        if match is None:
            return -1
        for hiding in (b"<!", b"<?"):
            if self._data.find(hiding, position, match.start()) >= 0:
                return next((token.start() for token in self._tokens(position) if token["start"]), -1)
        return match.start()

    def run(self, start: int) -> list[Span]:
        """A run of items from `start` on, found by their end tags alone."""
        spans: list[Span] = []
        position = start
        while len(spans) < RUN_ITEMS and position - start < RUN_BYTES:
            end = self._next(self._close, position)
            if end < 0:
                break
            end += len(self._close)
            spans.append(Span(position, end))
            position = self._skip_space(end)
            if self._start.match(self._data, position) is None:
                break
        return spans

    def _skip_space(self, position: int) -> int:
        match = _SPACE.match(self._data, position)
        return match.end() if match else position

    def _next(self, needle: bytes, position: int) -> int:
        """Where a text, or an item if it is empty, is found next; remembered, for it may be far and asked for often."""
        since, found = self._found.get(needle, (len(self._data) + 1, -1))
        if position < since or 0 <= found < position:
            if needle:
                found = self._data.find(needle, position)
            else:
                match = self._start.search(self._data, position)
                found = match.start() if match else -1
            self._found[needle] = position, found
        return found

    # --- the careful case ---------------------------------------------------------------------------------------

    def careful_run(self, start: int, until: int) -> Iterator[Span]:
        """The items from the one at `start` on, as far as those that begin before `until`."""
        while 0 <= start < until:
            span = Span(start, self._end(start))
            yield span
            start = self.next_start(span.end)

    def _end(self, start: int) -> int:
        tag = self._start_tag.match(self._data, start)
        if tag is not None and tag[0].endswith(b"/>"):
            return tag.end()
        for token in self._tokens(tag.end() if tag else start + 1):
            return token.end() if token["end"] else token.start()
        return len(self._data)

    def _tokens(self, position: int) -> Iterator[re.Match[bytes]]:
        """Start and end tags of items, and end tags of what they stand in, outside of closed sections."""
        while token := self._token.search(self._data, position):
            position = token.end()
            if token["section"]:
                position = self._after_section(token[0], position)
            else:
                yield token

    def _after_section(self, opening: bytes, position: int) -> int:
        """Behind a section that begins before `position`; `position` itself if it was never closed."""
        closing = _SECTIONS[opening]
        end = self._next(closing, position)
        if end < 0:
            return position
        start = self._next(b"", position)
        if 0 <= start < end and 0 <= self._next(opening, start) < end:
            return position
        return end + len(closing)
