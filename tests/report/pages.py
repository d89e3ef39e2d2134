"""What the tests of the page share: hostile words, a small moving picture, a reader of HTML."""

import html.parser
import io
import json
from pathlib import Path

from PIL import Image

from velocity_ledger.experiment import open_bundle
from velocity_ledger.report.page._embed import Moving, moving
from velocity_ledger.report.page._write import page

HOSTILE = (
    "</script><script>window.hacked = 1</script><!-- <img src=x onerror='window.hacked = 1'>"
    "\u2028\u2029\u202e]]> {{ 7 * 7 }} {% raw %} & &amp; \"'`"
)
VOID = {"meta", "link", "img", "br", "input", "source"}


def film(folder: Path) -> Moving:
    """A GIF of two frames."""
    frames = [Image.new("P", (320, 200), shade) for shade in (0, 1)]
    frames[0].putpalette([255, 255, 255, 0, 0, 0])
    buffer = io.BytesIO()
    frames[0].save(buffer, "GIF", save_all=True, append_images=frames[1:], duration=500, loop=0)
    path = folder / "one_step.gif"
    path.write_bytes(buffer.getvalue())
    return moving(path)


def page_of(bundle: Path, folder: Path) -> str:
    """The page of a bundle with two small films in place of its own, which take long to draw."""
    return page(open_bundle(bundle), [film(folder)] * 2)


class Reader(html.parser.HTMLParser):
    """Elements with their attributes, texts by element, the script's data."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.misnested: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.misnested.append(tag)

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))

    def named(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def words(self, *tags: str) -> str:
        return "".join(t for tag, t in self.texts if not tags or tag in tags)

    def data(self):
        def refuse(name):
            raise ValueError(f"{name} is no JSON")

        # The first script is the data, the second the program.
        scripts = [t for tag, t in self.texts if tag == "script"]
        return json.loads(scripts[0], parse_constant=refuse)
