"""The commands, one file each; adding one is its file and its line here."""

from velocity_ledger.cli.verbs._check import Check as Check
from velocity_ledger.cli.verbs._cite import Cite as Cite
from velocity_ledger.cli.verbs._compare_bundles import CompareBundles as CompareBundles
from velocity_ledger.cli.verbs._convert import Convert as Convert
from velocity_ledger.cli.verbs._describe import Describe as Describe
from velocity_ledger.cli.verbs._doctor import Doctor as Doctor
from velocity_ledger.cli.verbs._export import Export as Export
from velocity_ledger.cli.verbs._import import Import as Import
from velocity_ledger.cli.verbs._list import List as List
from velocity_ledger.cli.verbs._render import Render as Render
from velocity_ledger.cli.verbs._report import Report as Report
from velocity_ledger.cli.verbs._sample import Sample as Sample
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
    "convert": Convert,
    "render": Render,
    "report": Report,
    "sample": Sample,
    "describe": Describe,
    "list": List,
    "check": Check,
    "cite": Cite,
    "export": Export,
    "import": Import,
    "compare-bundles": CompareBundles,
    "doctor": Doctor,
}
