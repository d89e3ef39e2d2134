"""From raw seconds to figures."""

import pytest

from benchmarks import figures, others, products
from benchmarks.parts import telemetry, training
from benchmarks.shape import Shape


def row(name, seconds, error=None, **own):
    return {
        "name": name,
        "title": name,
        "precision": "fp32",
        "seconds": seconds,
        "error": error,
        "first_s": 10.0,
        "chunk": 1,
        "peak_bytes": None,
        "peer": False,
        "others": [0.01] * len(seconds),
        "facts": {"tokens": 8, "steps": 3},
    } | own


def test_a_machine_that_slows_down_changes_no_ratio():
    slow = [1.0, 2.0, 4.0, 2.0, 3.0]
    ours = row("plain-fp32", [[0.5 * s, 0.5 * s, 9.0] for s in slow])
    article = row("article", [[1.5 * s] for s in slow])
    assert figures.times_as_fast(ours, article) == {"median": 3.0, "low": 3.0, "high": 3.0}
    # Medians over rounds, each the median of its runs.
    assert figures.step_s(ours) == 1.0 and figures.tokens_per_second(ours) == 8.0


def test_ratios_are_formed_within_rounds():
    a, b = row("a", [[1.0], [4.0], [1.0]]), row("b", [[2.0], [2.0], [5.0]])
    assert figures.times_as_fast(a, b) == {"median": 2.0, "low": 0.5, "high": 5.0}


def test_compiling_is_what_the_first_run_took_beyond_its_steps():
    assert figures.compile_s(row("a", [[0.5], [0.7], [0.5]], chunk=4)) == 8.0
    assert figures.compile_s(row("a", [[11.0]])) == 0.0
    assert figures.compile_s(row("a", [])) is None


def test_a_program_is_held_against_the_floor_of_its_precision():
    rows = [
        row("plain-fp32", [[2.0]]),
        row("ledger-bf16", [[2.0]], precision="bf16"),
        row("article", [[4.0]]),
        row("torch-bf16", [[3.0]], precision="bf16"),
        row("products-fp32", [[1.0]]),
        row("products-bf16", [[0.5]], precision="bf16"),
    ]
    plain, ledger = (training.found(r, rows) for r in rows[:2])
    assert plain["of_the_floor"]["median"] == 0.5 and ledger["of_the_floor"]["median"] == 0.25
    assert ledger["to"]["article"]["median"] == 2.0 and ledger["to"]["torch"]["median"] == 1.5
    # There is no plain of that precision, and no PyTorch.
    assert ledger["to"]["plain"] is None and plain["to"]["torch"] is None
    assert training.found(row("x", [[1.0]], error="gone"), rows) == {}


def test_who_failed_is_no_reference():
    rows = [row("plain-fp32", [[2.0]]), row("article", [[4.0]], error="ended by SIGKILL")]
    assert training.found(rows[0], rows)["to"]["article"] is None


def test_a_peer_of_another_size_is_no_peer():
    rows = [
        row("plain-fp32", [[1.0]], facts={"parameters": 1000}, peer=True),
        row("torch-fp32", [[1.0]], facts={"parameters": 1001}, peer=True),
        row("ngpt-lite-fp32", [[1.0]], facts={"parameters": 990}),
        row("products-fp32", [[1.0]], facts={}),
    ]
    training._same_network(rows)
    assert [r["error"] for r in rows if r["error"]] == [
        "another network: 1,001 parameters, not 1,000"
    ]


def test_the_table_tells_failures_and_what_is_left_out():
    rows = [
        row("plain-fp32", [[2.0]], facts={"tokens": 8, "steps": 3, "loss": 1.5}),
        row("article", [], error="ended by SIGKILL", facts={}),
        row("products-fp32", [[1.0]], facts={"tokens": 8, "flops_a_step": 5e9}),
    ]
    text = training.told(
        {
            "rows": [{**r, "figures": training.found(r, rows)} for r in rows],
            "left_out": ["PyTorch: none"],
            "flops_a_token": 16e6,
            "flops": "counted so",
            "left_out_of_the_floor": 0.0237,
        }
    )
    assert "2.4 % fewer operations in all" in text and "both" not in text
    assert "others took 1 % of the cores" in text
    assert "article failed: ended by SIGKILL" in text and "left out: PyTorch: none" in text
    assert "50 %" in text and "run at 5 GFLOP/s in fp32" in text and "16.0 MFLOP a token" in text


def test_what_others_took_is_what_neither_stood_still_nor_was_ours(monkeypatch):
    monkeypatch.setattr(others.os, "cpu_count", lambda: 4)
    # In 10 s of 4 cores, 25 s of work, 15 of them ours.
    assert others.share(100.0, 125.0, 15.0, 10.0) == 0.25
    assert others.share(100.0, 114.9, 15.0, 10.0) == 0.0
    assert others.share(None, None, 1.0, 1.0) is None
    # A tick that falls into a moment says nothing of it.
    assert others.share(100.0, 100.01, 0.0, 0.0005) is None
    assert others.share(100.0, 200.0, 0.0, 10.0) == 1.0
    told = "others took 2 % of the cores, at most 30 %, more than 10 % in 1 of 3 turns"
    assert others.told([0.01, None, 0.3, 0.02]) == told
    assert others.told([0.01, 0.02]) == "others took 2 % of the cores, at most 2 %"
    assert "a busy machine" in str(others.told([0.01, 0.3, 0.2]))
    assert others.told([None]) is None


def test_the_machine_s_work_is_read_off(monkeypatch, tmp_path):
    stat = tmp_path / "stat"
    stat.write_text("cpu  100 10 50 9000 800 7 3 20 99 99\ncpu0 1 2 3\n")
    monkeypatch.setattr(others, "_STAT", stat)
    monkeypatch.setattr(others.os, "sysconf", lambda name: 100, raising=False)
    assert others.busy_s() == 1.9
    monkeypatch.setattr(others, "_STAT", tmp_path / "none")
    assert others.busy_s() is None


def test_telemetry_is_counted_against_the_steps_of_its_run():
    facts = {"measurements": 4, "of_steps": 1000}
    one = row("quick-measurement", [[1.0]], facts=facts, first_s=6.0)
    rows = [row("quick-step", [[0.5]]), one]
    found = telemetry.percent(rows, "quick")
    assert found == {"compiled_before": pytest.approx(0.8), "with_compiling": pytest.approx(1.8)}
    assert telemetry.percent(rows[:1], "quick") is telemetry.percent(rows, "paper") is None
    assert telemetry._shape("paper") == Shape()


def test_the_products_of_a_step_are_those_of_the_published_network():
    found = products.of_a_step(Shape())
    # Four projections and their gradients to the input, six layers.
    assert found[products.Product(8192, 192, 192)] == 6 * 4 * 2
    assert found[products.Product(192, 8192, 192)] == 6 * 4
    # Up, and the gradient of down to its input.
    assert found[products.Product(8192, 192, 768)] == 6 * 2
    # The late half of the queries by all keys, and the gradient to the weights.
    assert found[products.Product(64, 48, 128, 256)] == 6 * 2
    # The early half by the early keys, and the gradient to the weights.
    assert found[products.Product(64, 48, 64, 256)] == 6 * 2
    # The late half's weights by values, and the gradient to the queries.
    assert found[products.Product(64, 128, 48, 256)] == 6 * 2
    # The gradients to keys and values.
    assert found[products.Product(128, 64, 48, 256)] == 6
    assert found[products.Product(48, 64, 128, 256)] == 6
    assert sum(found.values()) == 3 * (6 * 10 + 1)
    layer, attention = 4 * 192 * 192 + 2 * 192 * 768, 2 * 128 * 192
    full = 6 * (layer + attention) + 192 * 80
    assert products.flops(Shape(), parts=1) == 3 * 8192 * 2 * full
    assert products.flops(Shape()) == 3 * 8192 * 2 * (full - 6 * attention // 4)
    assert products.left_out(Shape()) == pytest.approx(6 * attention / 4 / full)


def test_the_same_pages_are_compared():
    pages = [row("plain-fp32", [[1.0]]), row("article-huge-pages", [[2.0]])]
    pages += [row("plain-fp32-ordinary-pages", [[2.0]]), row("article", [[3.0]])]
    told = "both with huge pages 2.00 [2.00, 2.00], both without 1.50 [1.50, 1.50]"
    assert told in str(training.alike(pages))
    assert "without" not in str(training.alike(pages[:3])) and training.alike([]) is None


def test_a_measurement_says_how_many_windows_are_in_the_model_at_once():
    facts = {"measurements": 4, "of_steps": 9, "windows": 16, "windows_at_once": 2}
    one = row("quick-measurement", [[1.0]], facts=facts, bytes_before=1)
    memory = {"layers": 3, "batch": 16, "rows": [row("forward", [[1.0]], bytes_before=1), one]}
    shares = {"percent_of_a_run": {}}
    text = telemetry.told({"rows": [one], **shares, "memory": memory})
    assert text.count("windows at once") == 2 and text.count("2 of 16") == 2


def test_a_step_s_products_take_what_each_takes_alone():
    class Counting(products.Products):
        done = 0

        def array(self, values):
            return values

        def product(self, a, b):
            self.done += 1
            assert a.shape[-1] == b.shape[-2] and a.ndim == b.ndim

    shape = Shape(context=4, width=8, heads=2, hidden=16, layers=1, batch=2)
    made = Counting(shape)
    seconds = made.run()
    assert made.done == len(made.products) * (1 + made.repeats)
    expected = sum(made.times[p][0] * n for p, n in made.products.items())
    assert seconds == pytest.approx(expected) and seconds > 0
    assert made.facts()["flops_a_step"] == products.flops(shape)
