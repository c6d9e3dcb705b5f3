"""`python -m tests.fuzz watch --seconds 1800 --seed 7`: exit code 1 if a scene shows a difference."""

from __future__ import annotations

import argparse
import sys

from tests.fuzz.runner import ENGINES, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("engine", choices=ENGINES)
    parser.add_argument("--seconds", type=float, help="for how long; 60 by default, unless --scenes is given")
    parser.add_argument("--scenes", type=int, help="how many scenes")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first scene")
    parser.add_argument("--shrink", type=float, default=120.0, help="seconds for making a difference small")
    parser.add_argument("--longest", type=float, default=600.0, help="seconds after which a scene counts as hanging")
    given = parser.parse_args()
    seconds = 60.0 if given.seconds is None and given.scenes is None else given.seconds
    outcome = run(
        given.engine,
        seconds=seconds,
        scenes=given.scenes,
        seed=given.seed,
        shrinking=given.shrink,
        longest=given.longest,
        report=lambda line: print(line, file=sys.stderr, flush=True),
    )
    print(f"{given.engine}: {outcome}")
    return 0 if outcome.difference is None else 1


if __name__ == "__main__":
    sys.exit(main())
