"""The command line: words to calls, nothing else."""

from velocity_ledger.cli._main import main as main, run as run
