"""From words to options; the preset is read first, since it decides every other default."""

import contextlib
import dataclasses as dc
import inspect
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Union

import tyro

from velocity_ledger.cli._interrupts import PROGRAM
from velocity_ledger.cli._words import value_of
from velocity_ledger.cli.verbs import DEFAULT_PRESET, VERBS, Preset, Settings, Train, Training, Verb
from velocity_ledger.errors import UserError
from velocity_ledger.experiment._config import PRESETS, ExperimentConfig

_DESCRIPTION = """\
Integrators of the residual stream of a Transformer: trained fairly, measured through depth.

For example:
    velocity-ledger compare --preset quick     train the four variants and print the table
    velocity-ledger render runs/quick          draw the figures
    velocity-ledger COMMAND --help             every option of a command, with an example
    velocity-ledger --version"""

# A terminal without these characters gets a frame of spaces and hyphens.
_FRAME = str.maketrans("│╭╮╰╯─", "    --")


def parse(arguments: Sequence[str]) -> Verb:
    """Return the options of the verb that `arguments` name.

    Raises UserError where the words cannot be understood, and SystemExit(0) after `--help`.
    """
    if arguments and arguments[0] in ("-h", "--help"):
        _print_help()
    if not arguments or arguments[0] not in VERBS:
        named = f"there is no command {arguments[0]!r}" if arguments else "name a command"
        raise UserError(f"{named}: choose {', '.join(VERBS)}; see {PROGRAM} --help")
    name, *rest = arguments
    if value_of("--out", rest) == "":
        raise UserError("--out names no folder: name one, or leave it out")
    verb: Any = VERBS[name]
    preset = _preset(rest) or DEFAULT_PRESET
    recorded = _recorded(verb, rest)
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            options: Verb = tyro.cli(
                verb,
                prog=f"{PROGRAM} {name}",
                # Given as text: a docstring parser would fold the example's lines.
                description=inspect.getdoc(verb),
                default=_defaults(verb, preset, recorded or PRESETS[preset], recorded is not None)
                or verb.defaults(rest),
                args=rest,
            )
            return options.settled() if isinstance(options, Settings) else options
    except SystemExit as end:
        if end.code in (0, None):
            raise
        text = _one_line(complaint.getvalue())
        raise UserError(f"{text}; see {PROGRAM} {name} --help") from None


def _defaults(
    verb: type[Verb], preset: Preset, config: ExperimentConfig, recorded: bool
) -> Settings | None:
    """The options of `verb`, every default taken from `config`; None where it has no such.

    The one variant of a `recorded` configuration is a default too; a preset's never is.
    """
    if not issubclass(verb, Settings):
        return None
    names = {field.name for field in dc.fields(verb)}
    values = {f.name: getattr(config, f.name) for f in dc.fields(config) if f.name in names}
    if not issubclass(verb, Train):
        return verb(preset=preset, **values)
    if recorded and len(config.variants) == len(config.seeds) == 1:
        return verb(preset=preset, variant=config.variants[0], seed=config.seeds[0], **values)
    options = verb(preset=preset, variant="", **values)
    # tyro's word for an option that must be given; it is no text, so the constructor may refuse it.
    object.__setattr__(options, "variant", tyro.MISSING)
    return options


def _print_help() -> None:
    """Print what the commands are, each by its first sentence, and exit."""
    choices = [
        Annotated[verb, tyro.conf.subcommand(name=name, description=_first_sentence(verb))]
        for name, verb in VERBS.items()
    ]
    union: Any = Union[tuple(choices)]  # noqa: UP007 (built at run time)
    tyro.cli(union, prog=PROGRAM, description=_DESCRIPTION, args=["--help"])


def _first_sentence(verb: type[Verb]) -> str:
    return (inspect.getdoc(verb) or "").partition("\n\n")[0]


def _preset(words: Sequence[str]) -> Preset | None:
    """The preset that is named; a wrong name is left for the parser to refuse."""
    named = value_of("--preset", words)
    return named if named in PRESETS else None  # pyright: ignore[reportReturnType]


def _recorded(verb: type[Verb], words: Sequence[str]) -> ExperimentConfig | None:
    """For `--resume` or `--add` without a preset, the configuration that the run was begun with."""
    out = value_of("--out", words)
    goes_on = "--resume" in words or "--add" in words
    if not issubclass(verb, Training) or not goes_on or out is None:
        return None
    if value_of("--preset", words) is not None or not os.path.isdir(out):
        return None
    from velocity_ledger.experiment._manifest import (
        config_from_dict,
        read_manifest,
        refuse_imported,
    )

    manifest = read_manifest(Path(out))
    refuse_imported(manifest, Path(out), "cannot go on: choose another --out, without --resume")
    return config_from_dict(manifest["configuration"])


def _one_line(box: str) -> str:
    """The parser's framed complaint as one sentence."""
    parts: list[str] = []
    continued = False
    # The first line is the frame's title.
    for line in box.splitlines()[1:]:
        bare = line.translate(_FRAME)
        words = bare.strip() if bare.strip(" -") else ""
        if words.lower().startswith(("for full helptext", "argument helptext")):
            break
        if words and bare.startswith(10 * " "):
            continue  # An option's help, indented below its name.
        if words and continued:
            parts[-1] += f" {words}"
        elif words:
            parts.append(words)
        # A rule, now empty, ends a part of the complaint.
        continued = bool(words)
    return "; ".join(parts).rstrip(".") or "the options could not be understood"
