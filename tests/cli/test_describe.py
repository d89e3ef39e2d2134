"""`describe NAME` and `list`."""

import json

import pytest

import velocity_ledger as vl
from velocity_ledger.cli import main
from velocity_ledger.integrators import FAMILIES, family, sources

SMALL = ["--preset", "smoke"]


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


def test_a_name_in_full(capsys):
    assert main(["describe", "learned-ledger(mu=.8)", "ngpt-lite", "--preset", "paper"]) == 0
    text = capsys.readouterr().out
    for said in (
        "learned-ledger(mu=0.8)\n",
        "momentum     heavy_ball(mu=learned(start=0.8))",
        "v' = mu v + (1 - mu) F(x)",
        "learned      mu: 1 a sub-update, from 0.8; 12 in all",
        "2,724,876, 12 more than plain",
        "x plain\n             without what the integrator itself computes\nmemory ",
        "2,722,560, 2,304 fewer than plain",
        "of f_1 ... f_12 in x_12: ",
        "linearised where",
        *sources("ngpt-lite"),
    ):
        assert said in text, said
    # 1 - .8^(n-k+1)
    assert " ".join(f"{1 - 0.8 ** (13 - k):.3g}" for k in range(1, 13)) in text


def test_a_name_in_full_as_json(capsys):
    assert main(["describe", "ledger", "bdia", "--json", *SMALL]) == 0
    ledger, bdia = json.loads(capsys.readouterr().out)
    n = ledger["sub_updates"]
    assert ledger["impulse_response"]["linear"] is True
    gains = [1 - 0.9 ** (n - k) for k in range(n)]
    assert ledger["impulse_response"]["gain"] == pytest.approx(gains, rel=1e-5)
    assert len(ledger["impulse_response"]["path"]) == n + 1
    assert ledger["against_plain"] == {
        "parameters": 0, "flops_per_step": 1.0, "memory_bytes": 1.0
    }  # fmt: skip
    assert ledger["learned_parameters"] == []
    assert "v' = mu v + (1 - mu) F(x)" in bdia["equation"] and bdia["tex"]


def test_a_reduction_that_does_not_hold_in_a_gpt_says_so(capsys):
    assert main(["describe", "split-ledger", "ledger", *SMALL]) == 0
    split, _, ledger = capsys.readouterr().out.partition("\nledger\n")
    assert "as it is: ledger, to the bit, where all fields are of one kind" in split
    assert "mu=0: plain, to the bit\n" in ledger


def test_a_narrow_terminal_is_respected(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["describe", "yuriiformer", *SMALL]) == 0
    text = capsys.readouterr().out.partition("\n@")[0]
    assert max(map(len, text.splitlines())) <= 60


def test_names_and_variants_exclude_each_other(capsys):
    assert main(["describe", "ledger", "--variants", "plain"]) == 2
    assert "--variants" in capsys.readouterr().err
    assert main(["describe", "lodger", *SMALL]) == 2
    assert "lodger" in capsys.readouterr().err


def test_a_terminal_without_bars_gets_none(capsys, monkeypatch):
    import sys

    from velocity_ledger.cli import _card

    assert _card._bars([0.0, 1.0]) == " ▁█"
    assert _card._bars([0.0, -1.0]) == _card._bars([0.0, 0.0]) == ""
    monkeypatch.setattr(sys, "stdout", type("Narrow", (), {"encoding": "ascii"})())
    assert _card._bars([0.0, 1.0]) == ""


def test_every_name_is_listed_below_its_family(capsys):
    assert main(["list", *SMALL]) == 0
    lines = capsys.readouterr().out.splitlines()
    below, found = "", {}
    for line in lines:
        if line.startswith("["):
            below = line.strip("[]").replace(" ", "_")
        elif below and line and line.split()[0] in vl.names():
            found[line.split()[0]] = below
    assert found == {name: family(vl.parse(name)) for name in vl.names()}
    assert list(dict.fromkeys(found.values())) == [f for f in FAMILIES if f in found.values()]
    (rezero,) = (line for line in lines if line.startswith("rezero"))
    assert "fixed(h=learned)" in rezero


@pytest.mark.parametrize(
    ("form", "about"),
    [
        ("plain", "momentum"),
        ("plain(h=.5)", "step_scale"),
        ("ngpt-ledger", "geometry"),
        ("leapfrog", "momentum"),
        ("strang", "splitting"),
        ("staggered", "streams"),
    ],
)
def test_the_axis_that_an_integrator_is_about(form, about):
    assert family(vl.parse(form)) == about
