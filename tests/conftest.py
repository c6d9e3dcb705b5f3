"""Settings of the whole suite: property tests have no deadline, because no test depends on how fast the machine is."""

from __future__ import annotations

import os

from hypothesis import settings

# Everyday runs draw fewer examples, to stay within a quarter of an hour; `make test-all` draws more than usual.
settings.register_profile("everyday", deadline=None, max_examples=60)
settings.register_profile("thorough", deadline=None, max_examples=200)
settings.load_profile(os.environ.get("HELIOGRAPH_EXAMPLES", "everyday"))
