"""The page in a real browser: quiet, moving, readable, within reach of finger and keyboard."""

import base64
import importlib.util
import itertools
import json
import re

import pytest

from report.browser import NARROW, WIDE, lacking, missing, started
from report.pages import HOSTILE, Reader, page_of

pytestmark = pytest.mark.browser

SCHEMES = ("light", "dark")
DRAWN = """
return Object.fromEntries([...document.querySelectorAll('.plot')].map((plot) => [
  plot.dataset.plot,
  [...plot.querySelectorAll('path.line')].map((line) => [line.dataset.v, line.getAttribute('d')]),
]))
"""
TARGETS = "a[href], button, input, select, summary, [tabindex='0']"
VISIBLE = """
const seen = (node) => node.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
"""
CONTRAST = (
    VISIBLE
    + """
const parse = (text) => text.match(/[\\d.]+/g).map(Number);
const light = ([r, g, b]) => {
  const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const l = [r, g, b].map((c) => linear(c / 255));
  return 0.2126 * l[0] + 0.7152 * l[1] + 0.0722 * l[2];
};
const ratio = (a, b) => {
  const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
};
const ground = (node) => {
  for (let n = node; n; n = n.parentElement) {
    const colour = parse(getComputedStyle(n).backgroundColor);
    if (colour.length === 3 || colour[3] > 0.99) return colour;
  }
  return [255, 255, 255];
};
const texts = [], lines = [];
for (const node of document.querySelectorAll('body *')) {
  const own = [...node.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (!seen(node)) continue;
  const style = getComputedStyle(node);
  const inSvg = node.namespaceURI.endsWith('svg');
  if (own && !['SCRIPT', 'STYLE', 'NOSCRIPT'].includes(node.tagName)) {
    const ink = parse(inSvg ? style.fill : style.color);
    texts.push([ratio(ink, ground(node)), node.tagName, node.textContent.trim().slice(0, 30)]);
  }
  if (inSvg && node.matches('.line, .swatch path, .hollow, .mark .null'))
    lines.push([ratio(parse(style.stroke), ground(node)), node.getAttribute('class')]);
  if (inSvg && node.matches('.full, .mark .dot'))
    lines.push([ratio(parse(style.fill), ground(node)), node.getAttribute('class')]);
}
return { texts, lines, page: getComputedStyle(document.body).backgroundColor };
"""
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if reason := missing():
        lacking(reason)
    if importlib.util.find_spec("selenium") is None:
        lacking("no selenium here")
    browser = started(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.driver.quit()


@pytest.fixture(scope="module")
def pages(bundle_of, tmp_path_factory):
    """Pages of runs of all kinds; some of their strings are hostile."""
    folder = tmp_path_factory.mktemp("pages")
    nine = [f"ledger(mu=0.{k})" for k in range(1, 10)]
    bundles = {
        "full": bundle_of(seeds=(0, 1)),
        "one": bundle_of(("ledger",), (0,), checkpoints=(0,), validations=1),
        "begun": bundle_of(("plain", "ledger"), (0,), validations=0, checkpoints=(0,)),
        "nothing": bundle_of(("plain",), (0,), validations=0, checkpoints=()),
        "diverged": bundle_of(("plain", "ledger"), (0, 1), diverged=True),
        "hostile": bundle_of(("plain", HOSTILE, *nine), (0,), checkpoints=(0, 60), validations=2),
    }
    for cell in bundles["full"].glob("cells/*/0"):
        record = {"prompt": "ROMEO:\n", "text": "To be, or not\nto be. " * 30, "step": 600}
        (cell / "sample.json").write_text(json.dumps(record), encoding="utf-8")
    written = {}
    for name, bundle in bundles.items():
        written[name] = folder / f"{name}.html"
        written[name].write_text(page_of(bundle, folder), encoding="utf-8")
    return written


@pytest.fixture
def full(browser, pages):
    browser.open(pages["full"])
    return browser


@pytest.mark.parametrize(("size", "scheme"), [(WIDE, "light"), (NARROW, "dark")])
def test_the_console_is_silent_and_nothing_is_loaded(browser, pages, size, scheme):
    for name, page in pages.items():
        browser.open(page, size, scheme, motion="no-preference")
        for selector in (".chips button", ".play", ".wide th button", ".moving button"):
            for element in browser.all(selector)[:2]:
                browser.js("arguments[0].click()", element)
        assert browser.said() == [], name
        loaded = browser.js("return performance.getEntriesByType('resource').map((e) => e.name)")
        assert [n for n in loaded if not n.startswith("data:")] == [], name
        assert browser.js("return window.hacked") is None, name


def test_the_console_would_be_heard(browser, tmp_path):
    page = tmp_path / "loud.html"
    page.write_text("<!doctype html><script>console.warn('heard'); nowhere()</script>")
    browser.open(page)
    assert len(browser.said()) == 2


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_no_figure_is_empty(browser, pages, size):
    for name, page in pages.items():
        browser.open(page, size)
        drawn = browser.js(DRAWN)
        assert bool(drawn) == (name != "nothing")
        for plot, lines in drawn.items():
            assert lines, (name, plot)
            # A number at least on each line, and no number that is none.
            assert all(re.fullmatch(r"(?:[ML]-?[\d.]+ -?[\d.]+)+", d) for _, d in lines), plot
            assert browser.find(f"[data-plot='{plot}'] svg").size["height"] > 150
        for image in browser.all(".moving img"):
            assert browser.js("return arguments[0].naturalWidth", image) == 320
    browser.open(pages["full"], size)
    drawn = browser.js(DRAWN)
    assert {"validation", "differences", "plane", "over-straightness"} <= drawn.keys()
    assert {v for v, _ in drawn["plane"]} == {"0", "1", "2", "3"}


def test_the_slider_moves_paths_and_profiles_and_says_the_step(full, pages):
    data = Reader(pages["full"].read_text(encoding="utf-8")).data()
    steps = data["checkpoints"]
    slider, output = full.find("#step"), full.find(".time output")
    assert slider.get_attribute("aria-label")
    seen = []
    for k in reversed(range(len(steps))):
        assert f"step {steps[k]:,}" in output.text
        assert f"step {steps[k]:,}" in slider.get_attribute("aria-valuetext")
        seen.append(full.js(DRAWN))
        caption = full.find(".now caption").get_property("textContent")
        assert f"step {steps[k]:,}" in caption
        slider.send_keys("\ue012")  # The left arrow.
    for before, after in itertools.pairwise(seen):
        for plot in before:
            moves = plot == "plane" or plot.startswith("profile")
            assert (before[plot] != after[plot]) == moves, plot
    first = data["scalars"]["data"]["0"][str(steps[0])]["turning_angle"][0]
    assert f"{first:.1f}°" in full.find(".now").text


def test_playing_goes_to_the_last_step_and_stops(full):
    full.find("#step").send_keys("\ue011")  # Home.
    play = full.find(".play")
    assert play.text.endswith("Play")
    play.click()
    assert play.text.endswith("Pause")
    full.until(lambda: play.text.endswith("Play"))
    assert "3 of 3" in full.find(".time output").text


def test_between_two_steps_the_drawing_is_on_its_way(browser, pages):
    browser.open(pages["full"], motion="no-preference")
    browser.js(
        "const s = document.getElementById('step'); s.value = 0;"
        "s.dispatchEvent(new Event('input', { bubbles: true }))"
    )
    seen = []
    browser.until(lambda: seen.append(browser.js(DRAWN)["plane"]) or seen[-2:-1] == seen[-1:])
    browser.open(pages["full"])
    browser.find("#step").send_keys("\ue011")
    assert browser.js(DRAWN)["plane"] == seen[-1]


def test_variants_are_switched_off_and_on_in_every_figure(full):
    before = full.js(DRAWN)
    chip = full.find(".chips [data-v='1']")
    chip.click()
    assert chip.get_attribute("aria-pressed") == "false"
    hidden = full.js(DRAWN)
    assert before.keys() == hidden.keys()
    for plot, lines in hidden.items():
        assert "1" in {v for v, _ in before[plot]} and "1" not in {v for v, _ in lines}, plot
    assert "ledger" not in [row.text for row in full.all(".now tbody th")]
    chip.click()
    assert full.js(DRAWN) == before
    for button in full.all(".chips button"):
        button.click()
    assert len(full.all(".plot .empty")) == len(before)
    assert full.said() == []


def test_each_path_can_be_seen_by_its_own_length(full):
    before = full.js(DRAWN)["plane"]
    full.find(".choice button:last-child").click()
    after = full.js(DRAWN)["plane"]
    assert before != after
    reach = [[float(x) for x in re.findall(r"[ML](-?[\d.]+)", d)] for _, d in after]
    spans = [max(r) - min(r) for r in reach]
    assert min(spans) > 0.1 * max(spans)


def test_pointer_finger_and_keyboard_read_the_numbers(browser, pages):
    data = Reader(pages["full"].read_text(encoding="utf-8")).data()
    plain = next(s for s in data["validation"] if s["v"] == 0)
    area = "[data-plot='validation'] .area"

    def tip():
        shown = browser.find("[data-plot='validation'] .tip")
        return shown.text if shown.is_displayed() else ""

    browser.open(pages["full"])
    assert tip() == ""
    browser.js("arguments[0].scrollIntoView({ block: 'center' })", browser.find(area))
    # By keyboard, from the last step to the one before it.
    browser.js("arguments[0].focus({ focusVisible: true })", browser.find(area))
    assert f"step {plain['x'][-1]}" in tip() and "nats per character" in tip()
    browser.keys("ARROW_LEFT")
    assert f"step {plain['x'][-2]}" in tip() and f"{plain['y'][-2]:.4f}" in tip()
    spoken = browser.find(area).get_attribute("aria-valuetext")
    assert f"plain {plain['y'][-2]:.4f}" in spoken and "ngpt-ledger" in spoken
    browser.keys("ESCAPE")
    assert tip() == ""
    browser.js("arguments[0].blur()", browser.find(area))
    # By pointer, over the left end, then elsewhere.
    box = browser.js("return arguments[0].getBoundingClientRect().toJSON()", browser.find(area))
    at = {"x": box["left"] + 60, "y": box["top"] + 80}
    browser.cdp("Input.dispatchMouseEvent", type="mouseMoved", **at)
    assert f"step {plain['x'][0]}" in tip() and f"{plain['y'][0]:.4f}" in tip()
    browser.cdp("Input.dispatchMouseEvent", type="mouseMoved", x=2, y=2)
    assert tip() == ""
    # By finger: the numbers stay when it is lifted.
    browser.cdp("Emulation.setTouchEmulationEnabled", enabled=True)
    browser.cdp("Input.dispatchTouchEvent", type="touchStart", touchPoints=[at])
    browser.cdp("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    browser.cdp("Emulation.setTouchEmulationEnabled", enabled=False)
    assert f"{plain['y'][0]:.4f}" in tip()


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_a_tip_stays_inside_its_figure(browser, pages, size):
    browser.open(pages["hostile"], size)
    for plot in browser.all(".plot"):
        area = plot.find_element("css selector", ".area")
        for key in ("HOME", "END"):
            browser.js("arguments[0].focus({ focusVisible: true })", area)
            browser.keys(key)
            inside = browser.js(
                "const [a, t] = [arguments[0], arguments[0].querySelector('.tip')]"
                ".map((n) => n.getBoundingClientRect());"
                "return t.width > 0 && t.left >= a.left - 1 && t.right <= a.right + 1",
                area,
            )
            assert inside, (plot.get_attribute("data-plot"), key)


def test_tables_sort_both_ways_by_click_and_by_key(full):
    for table in full.all(".sortable"):
        heads = table.find_elements("css selector", "thead th")
        for column, head in enumerate(heads):
            button = head.find_element("css selector", "button")
            numeric = "number" in (head.get_attribute("class") or "")
            for direction, press in (("ascending", button.click), ("descending", None)):
                if press is None:
                    full.js("arguments[0].focus()", button)
                    full.keys("ENTER")
                else:
                    full.js("arguments[0].click()", button)
                assert head.get_attribute("aria-sort") == direction
                assert len(table.find_elements("css selector", "[aria-sort]")) == 1
                keys = full.js(
                    "return [...arguments[0].tBodies[0].rows]"
                    ".map((r) => r.cells[arguments[1]].dataset.key)",
                    table, column,
                )  # fmt: skip
                known = [k for k in keys if k != ""]
                assert keys == known + [""] * (len(keys) - len(known))
                values = [float(k) for k in known] if numeric else known
                assert values == sorted(values, reverse=direction == "descending")


def test_a_sort_would_be_noticed(full):
    """The rows do not lie in order already."""
    rows = "[...document.querySelectorAll('#table-cells tbody tr')]"
    keys = f"return {rows}.map((r) => r.cells[4].dataset.key)"
    before = full.js(keys)
    full.js("document.querySelectorAll('#table-cells thead button')[4].click()")
    assert full.js(keys) != before and sorted(full.js(keys)) == sorted(before)


def test_both_colour_schemes_differ_and_can_be_read(browser, pages):
    grounds = set()
    for scheme in SCHEMES:
        for size in (WIDE, NARROW):
            browser.open(pages["hostile"], size, scheme)
            for details in browser.all("details"):
                browser.js("arguments[0].open = true", details)
            browser.js("arguments[0].focus()", browser.find("[data-plot='plane'] .area"))
            found = browser.js(CONTRAST)
            grounds.add(found["page"])
            assert len(found["texts"]) > 150 and len(found["lines"]) > 50
            assert [t for t in found["texts"] if t[0] < 4.5] == []
            assert [line for line in found["lines"] if line[0] < 3] == []
    assert len(grounds) == 2


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_the_page_never_scrolls_sideways(browser, pages, width):
    for name, page in pages.items():
        browser.open(page, (width, 844))
        for details in browser.all("details"):
            browser.js("arguments[0].open = true", details)
        size = browser.js("return [document.documentElement.scrollWidth, innerWidth]")
        assert size[0] <= size[1] == width, name


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_every_target_is_large_enough_for_a_finger(browser, pages, size):
    for name in ("full", "hostile"):
        browser.open(pages[name], size)
        small = browser.js(
            VISIBLE
            + """
            document.querySelectorAll('details').forEach((d) => { d.open = true; });
            return [...document.querySelectorAll(arguments[0])].filter(seen).map((n) => {
              n.focus();
              const r = n.getBoundingClientRect();
              return [n.tagName, n.className, n.textContent.slice(0, 30), r.width, r.height];
            })""",
            TARGETS,
        )
        assert len(small) > 25
        assert [t for t in small if t[3] < 43.9 or t[4] < 43.9] == []


def test_the_keyboard_reaches_everything_and_shows_where_it_is(full):
    wanted = full.js(
        VISIBLE
        + """
        const all = [...document.querySelectorAll(arguments[0])].filter(seen);
        all.forEach((n, k) => { n.dataset.order = k; });
        return all.length""",
        TARGETS,
    )
    reached = []
    for _ in range(wanted):
        full.keys("TAB")
        order, outline = full.js(
            "const n = document.activeElement, s = getComputedStyle(n);"
            "const width = s.outlineStyle === 'none' ? 0 : parseFloat(s.outlineWidth);"
            "return [Number(n.dataset.order), width]"
        )
        assert outline >= 2, order
        reached.append(order)
    assert reached == list(range(wanted))
    assert full.js("return document.activeElement.tagName") == "SUMMARY"


def test_the_first_key_skips_to_the_verdict(full):
    full.keys("TAB")
    link = full.js("return document.activeElement")
    assert link.text == "Skip to the verdict"
    assert full.js("return arguments[0].getBoundingClientRect().top", link) >= 0
    full.keys("ENTER")
    assert full.js("return location.hash") == "#verdict"


def test_who_wants_no_motion_sees_the_last_frame_and_can_play(browser, pages):
    browser.open(pages["full"], motion="no-preference")
    film, still = browser.find(".moving .film"), browser.find(".moving .still")
    button = browser.find(".moving button")
    assert film.is_displayed() and not still.is_displayed() and button.text == "Pause"
    browser.js("arguments[0].click()", button)
    assert still.is_displayed() and not film.is_displayed() and button.text == "Play"
    browser.open(pages["full"], motion="reduce")
    film, still = browser.find(".moving .film"), browser.find(".moving .still")
    button = browser.find(".moving button")
    assert still.is_displayed() and not film.is_displayed() and button.text == "Play"
    browser.js("arguments[0].click()", button)
    assert film.is_displayed() and not still.is_displayed()


def test_without_a_script_the_answer_and_the_proof_are_there(browser, pages):
    browser.open(pages["full"], scripts=False)
    text = browser.find("body").text
    assert "drawn by a script" in text and "95 % intervals" in text and "ROMEO:" in text
    assert len(browser.all(".sortable tbody tr")) > 20
    assert browser.all("button") == [] and browser.find(".moving .still").is_displayed()
    browser.cdp("Emulation.setScriptExecutionDisabled", value=False)


def test_on_paper_everything_is_open_light_and_uncut(browser, pages):
    browser.open(pages["full"], (718, 1000), "dark")
    browser.emulate("dark", media="print")
    browser.js("dispatchEvent(new Event('beforeprint'))")
    ground = browser.js("return getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(255, 255, 255)"
    assert all(d.get_property("open") for d in browser.all("details"))
    assert browser.find(".definitions").is_displayed() and browser.find(".facts").is_displayed()
    controls = ".skip, nav, .play, .time input, .choice, .moving button"
    assert [e for e in browser.all(controls) if e.is_displayed()] == []
    assert browser.find(".moving .still").is_displayed()
    assert not browser.find(".moving .film").is_displayed()
    cut = browser.js(
        "return [...document.querySelectorAll('.wide, .glance, .now, .plot, pre')]"
        ".filter((n) => n.scrollWidth > n.clientWidth + 1).map((n) => n.outerHTML.slice(0, 80))"
    )
    assert cut == []
    assert len(browser.js(DRAWN)) > 8
    paper = browser.cdp("Page.printToPDF", printBackground=True)["data"]
    assert base64.b64decode(paper).startswith(b"%PDF")
    browser.js("dispatchEvent(new Event('afterprint'))")
    assert not any(d.get_property("open") for d in browser.all("details"))
