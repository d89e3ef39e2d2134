"""Every figure of a bundle, written beside it."""

import os
from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from velocity_ledger._files import try_folder, write_aside
from velocity_ledger.errors import UserError
from velocity_ledger.experiment import open_bundle
from velocity_ledger.report._data import variants as measured
from velocity_ledger.report._depth import depth_figure
from velocity_ledger.report._paths import paths_figure
from velocity_ledger.report._style import style
from velocity_ledger.report._validation import validation_figure

FORMATS = ("png", "svg")


def render(
    bundle_path: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    formats: Sequence[str] = FORMATS,
) -> list[Path]:
    """Draw the figures of a run, finished or not, from its bundle alone, and return their paths.

    `validation` (loss against step, nats a token), `paths` (path length, path over norm, turning
    angle and straightness beside their null models) and `depth` (profiles over the sub-updates) go
    to `out`, by default `figures/` in the bundle, in each of `formats` (png, svg). They show the
    cells and the checkpoint that `summary` takes. The same bundle gives the same bytes. A figure
    whose data do not exist yet is left out.

    Raises `UserError` for a folder that is no bundle, one without measurements, an unknown format
    and an `out` that cannot be written.
    """
    unknown = [name for name in formats if name not in FORMATS]
    if unknown or not formats:
        raise UserError(f"a format is one of {', '.join(FORMATS)}, got {' '.join(unknown) or '-'}")
    bundle = open_bundle(bundle_path)
    found = measured(bundle)
    written = []
    with style():
        figures = {
            "validation": validation_figure(found, "character"),
            "paths": paths_figure(found),
            "depth": depth_figure(found, bundle.config.model.sub_updates),
        }
        drawn = {name: figure for name, figure in figures.items() if figure is not None}
        if not drawn:
            raise UserError(f"{bundle_path} holds no measurements yet: train first, then render")
        folder = Path(out) if out is not None else Path(bundle_path) / "figures"
        try_folder(folder)
        for name, figure in drawn.items():
            for kind in dict.fromkeys(formats):
                path = folder / f"{name}.{kind}"
                _save(figure, path, kind)
                written.append(path)
    return written


def _save(figure: Figure, path: Path, kind: str) -> None:
    # A date would make every file differ.
    metadata = {"Date": None} if kind == "svg" else {"Software": "velocity-ledger"}

    def write(aside: Path) -> None:
        figure.savefig(aside, format=kind, metadata=metadata)

    write_aside(path, write)
