"""`experiments.md`: what the papers say beside what was measured, made from the records and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.experiments.experiment import Outcome, Point, Word
from benchmarks.experiments.record import FOLDER, Record, records

CHAPTERS = {
    "g": "[G] G-ToPSS (Petrovic, Liu, Jacobsen, WWW 2005)",
    "r": "[R] Filtering RSS on a cluster (WWW 2008)",
    "z": "[Z] Publish/subscribe on evolving graphs",
    "b": "[B] Graph constraints in content-based publish/subscribe (WWW 2011)",
    "peers": "What else a user could pick",
    "growth": "Growth",
}
_HEAD = """# Experiments

Every table and figure of the four papers, run again with their [algorithms](algorithms.md), as printed and with their
faults mended, beside Heliograph's own engines and the libraries that a user would pick instead. This page
is made by `heliograph bench --out docs` from the JSON files in [`experiments/`](experiments/), which hold every repeat,
all parameters, the seed, the commit, the versions and how busy the machine was. Points are medians; bars reach from the
smallest to the largest repeat, ± is half of that range, and none is left out. Answers are compared before times are.
Whether a figure is reproduced is decided by rules in its file, on one machine and seed: near a limit another run may
say otherwise. `make bench` runs all of it at the small scale and writes the same page to `benchmarks/out`.
"""


def write_page(out: Path) -> Path:
    """The page of all records in the folder beside it."""
    path = out / f"{FOLDER}.md"
    path.write_text(page(records(out / FOLDER)))
    return path


def page(found: Sequence[Record]) -> str:
    parts = [_HEAD, _summary(found)]
    for key, title in CHAPTERS.items():
        own = [record for record in found if chapter(record.name) == key]
        if own:
            parts += [f"## {title}\n", *map(_section, own)]
    return "\n".join(parts)


def chapter(name: str) -> str:
    """The chapter of an experiment by its name."""
    return name.split("-", 1)[0]


def _summary(found: Sequence[Record]) -> str:
    """A line for each, with where it was run."""
    lines = ["| experiment | what | outcome | scale |", "| --- | --- | --- | --- |"]
    for key in CHAPTERS:
        for record in found:
            if chapter(record.name) == key:
                facts = record.facts
                cells = [f"[{facts['paper']}](#{record.name})", facts["title"], record.verdict.word, facts["scale"]]
                lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", *_machines(found), ""])


def _machines(found: Iterable[Record]) -> list[str]:
    """Each machine once."""
    seen = {}
    for record in found:
        machine, versions = record.facts["machine"], record.facts["versions"]
        text = f"{machine['cores']} cores ({machine['processor']}), {machine['memory_gib']} GiB, {machine['system']}"
        seen[text] = (
            f"Measured on {text}; " + ", ".join(f"{name} {version}" for name, version in versions.items()) + "."
        )
    return list(seen.values())


def _section(record: Record) -> str:
    facts = record.facts
    parts = [f'<a id="{record.name}"></a>', f"### {facts['paper']}: {facts['title']}", ""]
    if facts["statement"]:
        parts += [f"*The paper:* {facts['statement']}", ""]
    word = "" if record.verdict.word is Word.MEASURED else f"**{record.verdict.word}.** "
    parts += [f"*Measured:* {word}{record.verdict.sentence}", ""]
    if not facts["table"]:
        parts += [f"![{facts['title']}]({FOLDER}/{record.name}.svg)", ""]
    parts += [f"{record.y.text.capitalize()}:", "", *grid(record), "", _setting(record), ""]
    return "\n".join(parts)


def _setting(record: Record) -> str:
    facts = record.facts
    parameters = ", ".join(f"{name} {_plainly(value)}" for name, value in facts["parameters"].items())
    took = f"{facts['seconds']:g} s" if facts["seconds"] >= 0.5 else "measured together with another figure"
    load = f"load {facts['machine']['load']:g}"
    text = f"{facts['scale'].capitalize()} scale, seed {facts['seed']}, {took}, {load}: {parameters}."
    notes = f" {facts['notes']}" if facts["notes"] else ""
    return f"{text} Checked: {facts['checked']}.{notes} [{record.name}.json]({FOLDER}/{record.name}.json)"


def _plainly(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return " ".join(_plainly(each) for each in value)
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plainly(each)}" for name, each in value.items())
    if isinstance(value, float):
        return number(value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def grid(record: Record) -> list[str]:
    """The medians as a table, a line for each x."""
    outcome = record.outcome
    head = [record.x.text, *outcome.series]
    rows = [[_plainly(x), *(_cell(outcome, series, x) for series in outcome.series)] for x in outcome.xs]
    return ["| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]]


def _cell(outcome: Outcome, series: str, x: object) -> str:
    found = [point for point in outcome.line(series) if point.x == x]
    return _figure(found[0]) if found else "–"


def _figure(point: Point) -> str:
    text = number(point.median)
    return f"{text} ± {point.spread / 2:.0%}" if len(point.samples) > 1 and point.spread >= 0.005 else text


def number(value: float) -> str:
    """Three digits, in full."""
    if value and abs(value) < 1e-3:
        return f"{value:.2e}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
