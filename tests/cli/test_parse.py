"""Words to options: presets, overrides, one line for every mistake."""

import dataclasses as dc
import re
import shlex
import typing
from pathlib import Path

import pytest

from velocity_ledger.cli._parse import parse
from velocity_ledger.cli.verbs import VERBS, Compare, Describe, Preset, Render, Train
from velocity_ledger.errors import UserError
from velocity_ledger.experiment._config import PRESETS, ExperimentConfig


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_gives_every_default(preset):
    options = parse(["compare", "--preset", preset])
    assert isinstance(options, Compare)
    assert options.experiment() == PRESETS[preset]
    assert options.folder() == Path("runs") / preset
    described = parse(["describe", f"--preset={preset}"])
    assert isinstance(described, Describe)
    assert described.experiment().training == PRESETS[preset].training


def test_the_presets_offered_are_the_presets_there_are():
    assert typing.get_args(Preset) == tuple(PRESETS)


def test_every_field_of_an_experiment_is_an_option_of_compare():
    names = {field.name for field in dc.fields(ExperimentConfig)}
    assert names <= {field.name for field in dc.fields(Compare)}


@pytest.mark.parametrize("preset_first", [True, False])
def test_what_is_given_wins_over_the_preset_in_any_order(preset_first):
    given = ["--model.width", "64", "--training.patience", "3", "--variants", "ledger(mu=.95)"]
    given += ["--seeds", "4", "5", "--training.telemetry-at", "0", "1", "--model.scan"]
    preset = ["--preset", "paper"]
    options = parse(["compare", *(preset + given if preset_first else given + preset)])
    assert isinstance(options, Compare)
    config, paper = options.experiment(), PRESETS["paper"]
    assert config.model == dc.replace(paper.model, width=64, scan=True)
    training = dc.replace(paper.training, patience=3, telemetry_at=(0.0, 1.0))
    assert config.training == training
    assert (config.variants, config.seeds) == (("ledger(mu=.95)",), (4, 5))
    assert not config.allow_fallback


def test_train_is_one_cell_of_the_same_experiment():
    words = ["train", "--variant", "./mine.py:Mine(h=.3)", "--seed", "7", "--preset", "smoke"]
    options = parse([*words, "--stop-after", "5", "--track", "tensorboard", "--resume"])
    assert isinstance(options, Train)
    cell = dc.replace(PRESETS["smoke"], variants=("./mine.py:Mine(h=.3)",), seeds=(7,))
    assert options.experiment() == cell
    assert options.folder() == Path("runs/smoke-mine.py-Mine-h=.3-7")
    assert (options.stop_after, options.track, options.resume) == (5, ("tensorboard",), True)


def test_render_takes_a_folder_and_formats():
    options = parse(["render", "runs/a b", "--formats", "svg"])
    assert options == Render(run=Path("runs/a b"), formats=("svg",))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "name a command"),
        (["compar"], f"no command 'compar': choose {', '.join(VERBS)}"),
        (["--preset", "paper"], "no command '--preset'"),
        (["compare", "--preset", "big"], "invalid choice 'big'"),
        (["compare", "--model.widht", "3"], "--model.widht"),
        (["compare", "--model.width", "x"], "--model.width"),
        (["compare", "--model.width", "0"], "model width must be at least 1"),
        (["compare", "--model.heads", "5"], "not a multiple of 5 heads"),
        (["compare", "--out"], "--out"),
        (["compare", "--device", "abacus"], "abacus"),
        (["train"], "--variant"),
        (["render"], "Missing"),
        (["render", "a", "b"], "b"),
    ],
)
def test_a_mistake_is_one_line_that_names_it(words, says):
    with pytest.raises(UserError) as mistake:
        parse(words)
    text = str(mistake.value)
    assert says in text
    assert len(text.splitlines()) == 1
    assert not set(text) & set("│─╭╮╰╯")
    assert "  " not in text and "--- " not in text


@pytest.mark.parametrize("verb", VERBS)
def test_help_ends_its_text_with_an_example_that_parses(verb, capsys):
    with pytest.raises(SystemExit) as end:
        parse([verb, "--help"])
    assert end.value.code in (0, None)
    # The frame depends on the encoding.
    text = re.split(r"\n(?:╭─)? (?:options|positional)", capsys.readouterr().out)[0].rstrip()
    lines = text.splitlines()
    examples = lines[lines.index("For example:") + 1 :]
    assert examples
    for example in examples:
        program, *words = shlex.split(example)
        assert program == "velocity-ledger"
        assert isinstance(parse(words), VERBS[verb])


def test_help_without_a_verb_names_them_all(capsys):
    with pytest.raises(SystemExit):
        parse(["--help"])
    text = capsys.readouterr().out
    assert all(f"• {verb}" in text for verb in VERBS)
