"""Three small stories on shipped data, one for each verb, told with the public Python API."""

from __future__ import annotations

from pathlib import Path

DATA = Path(__file__).parent / "data"
