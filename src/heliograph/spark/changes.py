"""A filter that consists of parts, as the driver holds it: parts by name, and the small change since they were made.

The laws: the ids of the parts are looked up in their files and not kept, so the driver is as large as the change; an id
stands for one subscription at a time, wherever it is; a part is never written again.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from heliograph.filter import saving
from heliograph.filter.options import check_options
from heliograph.filter.parts import Ground, restored, save_shard
from heliograph.model import Receipt, Rejected, Rejections
from heliograph.spark.assemblies import Assembly
from heliograph.subscriptions import Subscription, Subscriptions, duplicate, holds_patterns, unknown
from heliograph.tables.items import as_table

_FEW = 4096  # subscriptions that may always be looked up with the front
_SHARE = 20  # a change of more than a twentieth of all is built into the parts


class Changes:
    """Parts, and who came and went since."""

    def __init__(self, assembly: Assembly, ground: Ground) -> None:
        self.assembly, self.ground = assembly, ground
        self._added: Subscriptions = ground.registry()
        self._removed = set(assembly.removed)
        if assembly.changes is not None:
            restored(self._added, saving.read(assembly.path(assembly.changes)).tables)

    @classmethod
    def at(cls, path: Path) -> Self:
        """As a version has them."""
        assembly = Assembly.read(path)
        front = saving.read(assembly.path(assembly.front.part))
        return cls(assembly, Ground.of(front.taxonomy, front.prefixes))

    @property
    def size(self) -> int:
        return self.assembly.base - len(self._removed) + len(self._added)

    @property
    def is_large(self) -> bool:
        """Whether the parts had better be made again."""
        return len(self._added) + len(self._removed) > max(_FEW, self.assembly.base // _SHARE)

    # --- changing -----------------------------------------------------------------------------------------------

    def subscribe(self, items: Any = None, *, patterns: Any = None, constraints: Any = None) -> Receipt:
        if patterns is None and holds_patterns(items):
            items, patterns = None, items
        items = None if items is None else as_table("subscriptions", items)
        patterns = None if patterns is None else as_table("patterns", patterns)
        tables = [read.table for read in (items, patterns) if read is not None]
        held = self._held(id for table in tables for id in table["subscription_id"].unique().to_pylist() if id)

        def accept(subscription: Subscription) -> None:
            if subscription.id in held:
                raise duplicate(subscription.id)
            check_options(subscription)

        return self._added.subscribe(items, patterns=patterns, constraints=constraints, accept=accept).receipt

    def unsubscribe(self, ids: Iterable[str]) -> Receipt:
        wanted = list(map(str, ids))
        added = [id for id in wanted if id in self._added]
        held = self._held(id for id in wanted if id not in added)
        rejected: list[Rejected] = []
        for id in wanted:
            if id in self._added:
                self._added.unsubscribe([id])
            elif id in held:
                held.remove(id)
                self._removed.add(id)
            else:
                rejected.append(Rejected.of(unknown(id), item=id))
        return Receipt(len(wanted) - len(rejected), Rejections(rejected))

    def _held(self, ids: Iterable[str]) -> set[str]:
        """Which of these stand in the parts now."""
        return self.assembly._replace(removed=frozenset(self._removed)).held(ids)

    # --- saving -------------------------------------------------------------------------------------------------

    def keep(self) -> Assembly:
        """The parts together with the change, saved as a part if there is any."""
        name = None
        if len(self._added):
            name = f"changes-{secrets.token_hex(8)}"
            save_shard(self.assembly.path(name), self._added, self.ground)
        self.assembly = self.assembly._replace(changes=name, added=len(self._added), removed=frozenset(self._removed))
        return self.assembly

    def save(self, path: Path) -> None:
        self.keep().write(path)
