"""New tokens a second: inside the context, one row and several at a time, and past it.

Inside, from one token on until the context is full, keys and values are kept, or the whole window
is encoded anew for every token; both must draw the same tokens. Past it the window slides (exact),
or is encoded anew every half context (refill).
"""

from collections.abc import Sequence
from typing import Any

from benchmarks import figures, words
from benchmarks.bench import Bench
from benchmarks.driver import Program
from benchmarks.parts import _rates

ROWS = 8
WAYS = {
    "kept": "keys and values kept",
    "anew": "the window anew",
    "exact": "past the context, exact",
    "refill": "past the context, refilled",
}
COMPARED = {
    "kept": ("anew", "keys and values kept"),
    "refill": ("exact", "past the context, refilling"),
}
"""What is held against what, and the words for it."""
COMPARED_IN = {"plain": "plain", "ledger": "ledger", f"plain-{ROWS}": f"plain, {ROWS} rows"}
"""Beginnings of programs' names, and the words for these."""
ARTICLE = "article-anew"


def measure(bench: Bench) -> dict[str, Any]:
    """Raw rounds, a full context of new tokens a run, but a quarter of one of several rows."""
    shape = bench.shape()
    made = [_program(bench, "plain", way) for way in WAYS]
    made += [_program(bench, "ledger", way) for way in ("kept", "anew")]
    title = "the article's way, the window anew in a call of its own"
    made.append(bench.others(ARTICLE, "article:Sampling", shape, title=title))
    several: dict[str, Any] = {"rows": ROWS, "length": shape.context // 4}
    made += [_program(bench, "plain", way, several) for way in ("kept", "anew")]
    rows = bench.alternate("sampling", made, rounds=3, steps=1)
    same_tokens(rows)
    return {"rows": rows}


def _program(
    bench: Bench, variant: str, way: str, several: dict[str, Any] | None = None
) -> Program:
    target = "Anew" if way == "anew" else "Sampling"
    past = {"past": way} if way in ("exact", "refill") else {}
    name, title = f"{variant}-{way}", f"{variant}, {WAYS[way]}"
    if several is not None:
        name, title = f"{variant}-{several['rows']}-{way}", f"{title}, {several['rows']} rows"
    own = {"variant": variant, "title": title, **past, **(several or {})}
    return bench.ours(name, f"ours_other:{target}", bench.shape(), **own)


def same_tokens(rows: Sequence[dict[str, Any]]) -> None:
    """A way to draw the same tokens that draws others is none."""
    known = {row["name"]: row for row in rows if row["error"] is None}
    for name in COMPARED_IN:
        kept, anew = (known.get(f"{name}-{way}") for way in ("kept", "anew"))
        if kept is None or anew is None:
            continue
        pairs = zip(*(row["facts"]["drawn"].split() for row in (kept, anew)), strict=True)
        other = next((place for place, (a, b) in enumerate(pairs) if a != b), None)
        if other is not None:
            kept["error"] = f"token {other} is another one than that of the window anew"


def told(found: dict[str, Any]) -> str:
    """One table, and how the ways compare."""
    known = figures.by_name(found["rows"])
    notes = words.failures(found["rows"], _rates.title)
    for name in COMPARED_IN:
        for way, (other, what) in COMPARED.items():
            row, peer = known.get(f"{name}-{way}"), known.get(f"{name}-{other}")
            if row is not None and peer is not None:
                notes.append(f"{COMPARED_IN[name]}, {what}: {_ratio(row, peer)} as {WAYS[other]}")
    kept, article = known.get("plain-kept"), known.get(ARTICLE)
    if kept is not None and article is not None:
        notes.append(f"plain, keys and values kept: {_ratio(kept, article)} as the article's way")
    return "\n".join([_rates.table("sampling", found["rows"]), *notes])


def _ratio(row: figures.Row, other: figures.Row) -> str:
    """The two need not draw as many tokens in a run."""
    more = row["facts"]["tokens"] / other["facts"]["tokens"]
    found = figures.times_as_fast(row, other)
    assert found is not None
    scaled = {name: more * value for name, value in found.items()}
    return f"{words.ratio(scaled, spread=True)} times as fast"
