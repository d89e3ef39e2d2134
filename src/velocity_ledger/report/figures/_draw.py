"""All still figures of a run."""

from matplotlib.figure import Figure

from velocity_ledger.experiment import Bundle
from velocity_ledger.report._data import facts, variants
from velocity_ledger.report._style import style
from velocity_ledger.report.figures._paths import paths_figure
from velocity_ledger.report.figures._steps import steps_figure
from velocity_ledger.report.figures._turning import turning_figure
from velocity_ledger.report.figures._validation import validation_figure

_FIGURES = {
    "validation": validation_figure,
    "paths": paths_figure,
    "turning": turning_figure,
    "steps": steps_figure,
}
NAMES = tuple(_FIGURES)
"""Figures that a run can have, in the order they are read."""


def figures(bundle: Bundle) -> dict[str, Figure]:
    """Draw the figures of a run by name; one whose data the run lacks is left out."""
    found, known = variants(bundle), facts(bundle)
    with style():
        drawn = {name: draw(found, known) for name, draw in _FIGURES.items()}
    return {name: figure for name, figure in drawn.items() if figure is not None}
