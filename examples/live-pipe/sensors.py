"""Writes readings as NDJSON, one a moment: each sets a sensor's temperature (`=` replaces the reading before)."""

from __future__ import annotations

import json
import sys
import time

ROOMS = {"s1": "server room", "s2": "office"}
READINGS = [("s1", 21), ("s2", 22), ("s1", 27), ("s1", 31), ("s2", 23), ("s1", 29), ("s1", 24), ("s2", 24)]


def main(pause: float = 0.2) -> None:
    for sensor, room in ROOMS.items():
        send("+", sensor, "in", room)
    for sensor, degrees in READINGS:
        send("=", sensor, "degrees", degrees)
        time.sleep(pause)


def send(op: str, subject: str, property: str, value: str | int) -> None:
    print(json.dumps({"op": op, "subject": subject, "property": property, "object": value}))
    sys.stdout.flush()


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 0.2)
