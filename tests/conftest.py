"""Settings of the whole suite: property tests have no deadline, because no test depends on how fast the machine is."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("heliograph", deadline=None)
settings.load_profile("heliograph")
