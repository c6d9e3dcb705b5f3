"""Where Spark is to run. The law: a master that cannot be one, or where nobody listens, is told before a JVM starts."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator

from heliograph.errors import SetupError

_NUMBER = r"(?:\d+|\*)"
_KINDS = re.compile(
    rf"local(?:\[{_NUMBER}(?:,\s*\d+)?\])?|local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]|spark://\S+:\d+|yarn|k8s://\S+"
)
_PATIENCE = 5.0  # seconds for a machine that does not answer; Spark itself tries for a minute


def is_here(master: str) -> bool:
    """Whether driver and executors are on one machine, so that addresses of its own are enough."""
    return master.startswith("local") or re.match(r"spark://(?:127\.|localhost:|\[::1\])", master) is not None


def check_master(master: str) -> None:
    """Raises for what is no master, and for one of a standalone cluster that cannot be reached."""
    if _KINDS.fullmatch(master) is None:
        fix = "write local[N], local-cluster[N,CORES,MB], spark://HOST:PORT, yarn or k8s://…"
        raise SetupError("HG-905", f"{master!r} is no master of Spark", fix=fix)
    addresses = list(_addresses(master))
    if addresses and not any(_answers(host, port) for host, port in addresses):
        fix = "start the master, or check its address and port"
        raise SetupError("HG-905", f"nobody answers at {master}", fix=fix)


def _addresses(master: str) -> Iterator[tuple[str, int]]:
    """The masters of a standalone cluster, of which one is enough."""
    if master.startswith("spark://"):
        for part in master.removeprefix("spark://").split(","):
            host, _, port = part.rpartition(":")
            if port.isdigit():
                yield host.strip("[]"), int(port)


def _answers(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), _PATIENCE):
            return True
    except (OSError, OverflowError):
        return False
