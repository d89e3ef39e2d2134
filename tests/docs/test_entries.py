"""The pages of the integrators are made from the registry."""

import json
import re

import pytest

import snippets
import velocity_ledger as vl
from velocity_ledger.integrators import FAMILIES, _registry

PAGES = snippets.ROOT / "docs" / "integrators"


@pytest.fixture(scope="module")
def made():
    return snippets.script("docs_entries")


@pytest.fixture(scope="module")
def pages(made):
    return {family: made.entries(family) for family in FAMILIES}


def test_every_name_has_one_entry(pages):
    found = [name for page in pages.values() for name in re.findall(r"\{ #(\S+) \}", page)]
    assert sorted(found) == sorted(vl.names())
    assert {path.stem for path in PAGES.glob("*.md")} == {"index", *FAMILIES}
    for family in FAMILIES:
        assert f"<!-- entries: {family} -->" in (PAGES / f"{family}.md").read_text()


def test_an_entry_has_its_equation_its_facts_and_its_papers(pages):
    text = pages["momentum"]
    entry = text[text.index("## ledger {") : text.index("## learned-ledger {")]
    assert r"v^{\prime} &= 0.9 \, v + 0.1 \, F(x)" in entry
    assert '<div class="response" data-entry="ledger"></div>' in entry
    assert "[polyak1964](#polyak1964)" in entry and '<span id="polyak1964"></span>' in text
    assert all(f'<span id="{key}">' in text for key in re.findall(r"\]\(#(\w+)\)", text))


def test_a_new_name_is_on_the_page_by_itself(made, monkeypatch):
    monkeypatch.setattr(_registry, "_builders", dict(_registry._builders))
    monkeypatch.setattr(_registry, "_sources", dict(_registry._sources))

    def halved(h: float = 0.5):
        """A plain block of half the size."""
        return vl.plain(h)

    vl.register("halved", halved)
    made._family.cache_clear()
    assert "## halved { #halved }\n\nA plain block of half" in made.entries("step_scale")
    assert "step_scale.md#halved" in made.index()
    made._family.cache_clear()


def test_pictures_follow_the_page_and_say_what_they_show(made):
    drawn = made.picture("ledger")
    assert 'role="img" aria-label="Gain of each of 12' in drawn and "0.718" in drawn
    assert "sub-update k" in drawn and "gain of" in drawn
    assert "var(--response-line)" in drawn and "var(--response-ink)" in drawn
    # Every colour is the page's; what is left would be invisible in one of its two modes.
    assert set(re.findall(r"#[0-9a-f]{6}\b", drawn)) <= {"#ffffff"}
    ids = [set(re.findall(r' id="([^"]+)"', made.picture(n))) for n in ("plain", "ledger")]
    assert {i for i in ids[0] & ids[1]} == set()
    assert made.pictures('<div class="response" data-entry="plain"></div>').startswith("<figure")


def test_the_contracts_rows_are_read_from_their_file(made, monkeypatch, tmp_path):
    monkeypatch.setattr(made, "CONTRACT", tmp_path / "contract.json")
    assert made.contract_rows() == {}
    rows = {"ledger": {"zero field": "holds"}}
    (tmp_path / "contract.json").write_text(json.dumps(rows))
    assert made.contract_rows() == rows
    assert "| zero field | holds |" in made._entry("ledger")


@pytest.mark.parametrize("axis", ["momentum", "geometry", "step_scale", "splitting", "coefficient"])
def test_the_parts_of_an_axis_link_to_their_classes(made, axis):
    table = made.parts(axis)
    for name in re.findall(r"velocity_ledger\.integrators\.(\w+)", table):
        assert hasattr(vl.integrators, name)
    assert table.count("\n") >= 3
