"""The commands, one file each; adding one is its file and its line here."""

from velocity_ledger.cli.verbs._describe import Describe as Describe
from velocity_ledger.cli.verbs._render import Render as Render
from velocity_ledger.cli.verbs._settings import (
    DEFAULT_PRESET as DEFAULT_PRESET,
    Preset as Preset,
    Settings as Settings,
)
from velocity_ledger.cli.verbs._train import (
    Compare as Compare,
    Train as Train,
    Training as Training,
)
from velocity_ledger.cli.verbs._verb import Verb as Verb

VERBS: dict[str, type[Verb]] = {
    "compare": Compare,
    "train": Train,
    "render": Render,
    "describe": Describe,
}
