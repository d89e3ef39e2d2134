"""What parts of a run say of it: same tokens, compiling, quick sizes."""

import dataclasses as dc
import types

import jax
import pytest

from benchmarks.parts import _sweep, depth, host, sampling, width
from benchmarks.programs import ours, ours_other
from benchmarks.shape import Shape

TINY = Shape(vocabulary=11, context=6, width=8, heads=2, hidden=12, layers=1, batch=2)


def row(name, seconds, error=None, **facts):
    found = {"name": name, "title": name, "seconds": seconds, "error": error, "first_s": 3.0}
    return found | {"chunk": 1, "peak_bytes": None, "facts": {"tokens": 10, **facts}}


@pytest.mark.parametrize(("rows", "length", "tokens"), [(1, None, 5), (2, 3, 6)])
def test_the_window_anew_draws_the_tokens_of_a_sample(rows, length, tokens):
    own = {"variant": "ledger", "rows": rows, "length": length}
    kept = ours_other.Sampling(dc.asdict(TINY), **own)
    anew = ours_other.Anew(dc.asdict(TINY), **own)
    for program in (kept, anew):
        program.run()
        assert program.facts()["tokens"] == len(program.facts()["drawn"].split()) == tokens
    assert kept.facts() == anew.facts()


def test_past_the_context_a_context_of_tokens_is_drawn():
    for past in ("exact", "refill"):
        program = ours_other.Sampling(dc.asdict(TINY), past=past)
        program.run()
        assert len(program.facts()["drawn"].split()) == 6


@pytest.mark.parametrize(("own", "at_once"), [({}, 1), ({"at_once": 2}, 2)])
def test_a_measurement_says_its_windows(own, at_once):
    program = ours_other.Telemetry(dc.asdict(TINY), windows=4, **own)
    program.run()
    facts = program.facts()
    assert (facts["windows"], facts["windows_at_once"], facts["tokens"]) == (4, at_once, 24)


def test_the_article_s_way_draws_tokens_and_no_dropout():
    from benchmarks.programs import article

    program = article.Sampling(dc.asdict(TINY))
    windows = []
    call = article.next_logits

    def seen(model, window, place):
        windows.append(window)
        first, second = (call(model, window, place) for _ in range(2))
        assert (first == second).all()
        return first

    article.next_logits, before = seen, call
    try:
        program.run()
    finally:
        article.next_logits = before
    assert len(windows) == program.facts()["tokens"] == 5
    assert (windows[4][0, 5:] == 0).all() and windows[4][0, :5].any()


def test_ways_are_compared_by_tokens_and_only_if_they_draw_the_same():
    rows = [
        row("plain-kept", [[1.0], [1.0]], drawn="1 2 3"),
        row("plain-anew", [[20.0], [30.0]], drawn="1 2 3"),
        row("ledger-kept", [[1.0]], drawn="1 2 3"),
        row("ledger-anew", [[20.0]], drawn="1 9 3"),
        row("plain-exact", [[8.0]]),
        row("plain-refill", [[2.0]], tokens=5),
    ]
    sampling.same_tokens(rows)
    assert [r["name"] for r in rows if r["error"]] == ["ledger-kept"]
    text = sampling.told({"rows": rows})
    assert "keys and values kept: 25.00 [20.00, 30.00] times as fast as the window anew" in text
    assert "refilling: 2.00 [2.00, 2.00] times as fast" in text
    assert "ledger-kept failed: token 1 is another one" in text


def test_deep_networks_are_compiled_anew_in_every_round(monkeypatch):
    program = ours.Compiling(dc.asdict(TINY), scan=True)
    done = []
    lower = program.steps.lower
    monkeypatch.setattr(jax, "clear_caches", lambda: done.append("forget"))

    class Seen:
        def lower(self, *arguments):
            lower(*arguments)
            done.append("trace")
            return types.SimpleNamespace(compile=lambda: done.append("compile"))

    program.steps = Seen()
    program.run()
    program.run()
    assert done == 2 * ["forget", "trace", "compile"] and program.done == 0


def test_compiling_is_compared_within_rounds():
    cases = [
        {"layers": n, "rows": [row(f"unrolled-{n}", [[1.0]]), row(f"scanned-{n}", [[2.0]])]}
        for n in (6, 96)
    ]
    compiling = [row("compiling-6", [[2.0], [4.0]]), row("compiling-96", [[3.0], [5.0]])]
    text = depth.told({"cases": cases, "compiling": compiling})
    assert "96 layers compile in 4.00 s, 1.38 [1.25, 1.50] times the 3.00 s of 6." in text
    compiling[0]["error"] = "gone"
    text = depth.told({"cases": cases, "compiling": compiling})
    assert "compiling-6 failed: gone" in text and "times the" not in text


@pytest.mark.parametrize("quick", [True, False])
def test_sweeps_are_a_quarter_of_the_published_batch(quick):
    from benchmarks.bench import Bench

    shape = _sweep.smaller(Bench(quick=quick), width=256)
    assert shape.width == 256 and (quick or 4 * shape.batch == Shape().batch)


def test_a_sweep_tells_what_failed():
    cases = [
        {
            "width": 8,
            "shape": {"batch": 4},
            "rows": [row("plain", [[1.0]]), row("article", [[3.0]])],
        },
        {
            "width": 9,
            "shape": {"batch": 4},
            "rows": [row("plain", [[1.0]]), row("article", [], "x")],
        },
    ]
    lines = width.told({"cases": cases}).splitlines()
    assert "3.00 [3.00, 3.00]" in lines[2] and "[" not in lines[3]
    assert lines[4] == "width 9, article failed: x"


def test_the_host_s_work_is_that_of_many_steps_and_the_device_does_none():
    program = ours.Host(dc.asdict(TINY))
    before = jax.device_get(program.params)
    first = program.drawn()
    program.run()
    assert program.done == program.chunk == len(first) and (first != program.drawn()).any()
    pairs = zip(jax.tree.leaves(before), jax.tree.leaves(program.params), strict=True)
    assert all((a == b).all() for a, b in pairs)
    text = host.told({"rows": [row("plain", [[2e-5], [4e-5]]), row("ledger", [], "gone")]})
    assert "30" in text.splitlines()[2] and "ledger failed: gone" in text
