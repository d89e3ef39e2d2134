"""Whole training steps of the published shape: every program, in alternating rounds."""

import dataclasses as dc
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks import figures, others, products, settings, words
from benchmarks.bench import Bench
from benchmarks.driver import Program
from benchmarks.programs.ours import precisions
from benchmarks.shape import Shape

VARIANTS = {"plain": True, "ledger": True, "ngpt-lite": False, "ngpt-ledger": False}
"""Those that are trained, and whether they have as many parameters as plain."""
REFERENCES = {"article": "article", "plain": "plain-{}", "torch": "torch-{}"}
"""What a program is compared with, and its name, at the program's own precision."""
FLOOR = "products-{}"
HUGE, ORDINARY = "article-huge-pages", "plain-fp32-ordinary-pages"
ALIKE = {"with huge pages": ("plain-fp32", HUGE), "without": (ORDINARY, "article")}
"""Pairs in which both have the same pages."""

_MU = 0.9
_FLOPS = (
    "3 x the forward pass, whose products each have two more of the same size in the gradient; "
    "a multiply-add is two; norms, activations, dropout, the integrator and the optimizer are "
    "left out"
)


def programs(bench: Bench, shape: Shape) -> tuple[list[Program], list[str]]:
    """What can be measured here, and what is left out and why."""
    found: list[Program] = []
    missing: list[str] = []
    pages = settings.huge_pages()
    for precision in ("fp32", "bf16"):
        if precision not in precisions():
            missing.append(f"ours in {precision}: this version has no setting of the precision")
            continue
        found += [
            bench.ours(
                f"{variant}-{precision}",
                "ours:Training",
                shape,
                variant=variant,
                precision=precision,
                peer=peer,
                title=f"{variant}, {precision}",
            )
            for variant, peer in VARIANTS.items()
        ]
    found += [
        _article(bench, shape, "article", "the article's way"),
        _article(bench, shape, "article-ledger", "the article's way, ledger", mu=_MU),
    ]
    if pages:
        title = "the article's way, huge pages"
        found.append(_article(bench, shape, HUGE, title, pages))
        found.append(_ordinary(bench, shape, pages))
    else:
        missing.append("rows with and without huge pages: every process has them, or none can")
    both = ("fp32", "bf16")
    if bench.torch:
        kind, title = "Training", "PyTorch eager"
        found += [_torch(bench, shape, "torch", kind, title, p, pages, peer=True) for p in both]
    else:
        missing.append("PyTorch: there is no environment with it (it needs Python 3.11)")
    found += [
        bench.ours(
            FLOOR.format(p),
            "jax_products:Products",
            shape,
            precision=p,
            title=f"the products alone, {p}",
        )
        for p in both
    ]
    if bench.torch:
        name = "torch-products"
        kind, title = "Products", "PyTorch's products"
        found += [_torch(bench, shape, name, kind, title, p, pages) for p in both]
    return bench.wanted(found), missing


def _article(
    bench: Bench,
    shape: Shape,
    name: str,
    title: str,
    pages: Mapping[str, str] = {},
    **own: Any,
) -> Program:
    return bench.others(name, "article:Training", shape, pages, title=title, peer=True, **own)


def _ordinary(bench: Bench, shape: Shape, pages: Mapping[str, str]) -> Program:
    """Plain, without the one thing that the command line asks of the allocator."""
    title = "plain, fp32, ordinary pages"
    found = bench.ours(ORDINARY, "ours:Training", shape, title=title, peer=True)
    environment = {n: value for n, value in found.environment.items() if n not in pages}
    return dc.replace(found, environment=environment)


def _torch(
    bench: Bench,
    shape: Shape,
    name: str,
    kind: str,
    title: str,
    precision: str,
    pages: Mapping[str, str],
    **own: Any,
) -> Program:
    """PyTorch has the pages that ours have, and says so."""
    title = f"{title}, {precision}{', huge pages' if pages else ''}"
    own |= {"precision": precision, "title": title}
    return bench.others(f"{name}-{precision}", f"pytorch:{kind}", shape, pages, **own)


def measure(bench: Bench) -> dict[str, Any]:
    """Raw rounds, and figures of each program."""
    shape = bench.shape()
    chosen, missing = programs(bench, shape)
    rows = bench.alternate("training", chosen, rounds=3, steps=3)
    _same_network(rows)
    return {
        "shape": vars(shape),
        "tokens_a_step": shape.tokens,
        "flops_a_token": products.flops(shape, parts=1) / shape.tokens,
        "left_out_of_the_floor": products.left_out(shape),
        "flops": _FLOPS,
        "rows": [{**row, "figures": found(row, rows)} for row in rows],
        "left_out": missing,
    }


def found(row: figures.Row, rows: Sequence[figures.Row]) -> dict[str, Any]:
    """The figures of one row, from raw seconds alone; None where a reference is missing."""
    known = figures.by_name(rows)
    if row["name"] not in known:
        return {}
    precision = row["precision"]
    ratios = {
        label: figures.times_as_fast(row, known.get(name.format(precision)))
        for label, name in REFERENCES.items()
    }
    return {
        "step_s": figures.step_s(row),
        "tokens_per_second": figures.tokens_per_second(row),
        "compile_s": figures.compile_s(row),
        "to": ratios,
        "of_the_floor": figures.times_as_fast(row, known.get(FLOOR.format(precision))),
    }


def _same_network(rows: list[dict[str, Any]]) -> None:
    """Programs of another size than the plain network's are no peers of it."""
    known = {
        row["name"]: row["facts"]["parameters"] for row in rows if "parameters" in row["facts"]
    }
    right = known.get("plain-fp32", known.get("article"))
    for row in rows:
        if row["peer"] and known.get(row["name"], right) != right:
            row["error"] = f"another network: {known[row['name']]:,} parameters, not {right:,}"


def told(found: dict[str, Any]) -> str:
    """The table, and what to know to read it."""
    head = ("program", "tokens/s", "to the article's way", "to plain", "to PyTorch",
            "of the floor", "peak GB", "compile s", "loss")  # fmt: skip
    lines = [_cells(row) for row in found["rows"] if row["error"] is None]
    rows = figures.by_name(found["rows"])
    notes = words.failures(found["rows"], lambda row: row["title"])
    notes += [f"left out: {text}" for text in found["left_out"]]
    steps = max((row["facts"].get("steps", 0) for row in rows.values()), default=0)
    notes.append(
        f"{found['flops_a_token'] / 1e6:.1f} MFLOP a token: {found['flops']}.\n"
        "Ratios: the median round [lowest, highest]; plain, PyTorch and the floor in the "
        f"program's own precision. The loss is that of step {steps}.\n"
        f"The floor: {what_the_floor_is(found)}."
    )
    notes += filter(None, [alike(found["rows"])])
    notes += filter(None, [busy(found["rows"])])
    for precision in ("fp32", "bf16"):
        floor = rows.get(FLOOR.format(precision))
        if floor is not None:
            rate = floor["facts"]["flops_a_step"] / floor["figures"]["step_s"] / 1e9
            notes.append(f"The products alone run at {rate:,.0f} GFLOP/s in {precision}.")
    return "\n".join([words.table(head, lines), *notes])


def what_the_floor_is(found: Mapping[str, Any]) -> str:
    """What the floor is made of."""
    told, share = "the products that ours does, each alone", found["left_out_of_the_floor"]
    if not share:
        return told
    return (
        f"{told}; the queries of attention are taken in two halves, {100 * share:.1f} % fewer "
        "operations in all than with all pairs, which the article's way multiplies"
    )


def alike(rows: Sequence[figures.Row]) -> str | None:
    """Plain against the article's way where both have the same pages."""
    known = figures.by_name(rows)
    told = [
        f"{pages} {words.ratio(figures.times_as_fast(known[ours], known[theirs]), spread=True)}"
        for pages, (ours, theirs) in ALIKE.items()
        if ours in known and theirs in known
    ]
    return f"plain, fp32 to the article's way, both {', both '.join(told)}" if told else None


def busy(rows: Sequence[figures.Row]) -> str | None:
    """How much of the machine others had."""
    said = others.told([turn for row in rows for turn in row["others"]])
    return f"While a program worked, {said}." if said else None


def _cells(row: dict[str, Any]) -> list[str]:
    made = row["figures"]
    loss = row["facts"].get("loss")
    return [
        row["title"],
        words.count(made["tokens_per_second"]),
        words.ratio(made["to"]["article"], spread=True),
        words.ratio(made["to"]["plain"], spread=True),
        words.ratio(made["to"]["torch"]),
        words.share(made["of_the_floor"]),
        words.gigabytes(row["peak_bytes"]),
        words.seconds(made["compile_s"]),
        words.NONE if loss is None else f"{loss:.3f}",
    ]
