"""Every figure and animation of a bundle, written beside it."""

import os
from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from velocity_ledger._files import try_folder, write_aside
from velocity_ledger.errors import UserError
from velocity_ledger.experiment import open_bundle
from velocity_ledger.report._data import FIGURES, variants
from velocity_ledger.report._style import style
from velocity_ledger.report.figures import figures
from velocity_ledger.report.motion import write_animations

FORMATS = ("png", "svg", "gif")
_STILL = ("png", "svg")
_SHOWS = {
    "validation": "Validation losses, and their paired differences from the first variant",
    "paths": "Path lengths through depth, measured and of the null model",
    "turning": "Turning angles through depth, with their mean and the null model's",
    "steps": "Step lengths, increments and velocities through depth",
}


def render(
    bundle_path: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    formats: Sequence[str] = FORMATS,
) -> list[Path]:
    """Draw the figures of a run, finished or not, from its bundle alone, and return their paths.

    `validation` (loss against step, nats a token, with paired differences and their intervals),
    `paths` (path length, path over norm and straightness beside their null models, and the path so
    far through depth), `turning` (turning angles, degrees) and `steps` (step lengths beside
    increments and velocities) go to `out`, by default `figures/` in the bundle, as png and svg;
    the animations, as gif, are those of `report.motion`. They show the cells and the checkpoint
    that `summary` takes. The same bundle gives the same bytes. What its data do not allow is left
    out.

    Raises `UserError` for a folder that is no bundle, one without measurements or without any that
    these formats can show, an unknown format and an `out` that cannot be written.
    """
    unknown = [name for name in formats if name not in FORMATS]
    if unknown or not formats:
        raise UserError(f"a format is one of {', '.join(FORMATS)}, got {' '.join(unknown) or '-'}")
    bundle = open_bundle(bundle_path)
    still = [kind for kind in dict.fromkeys(formats) if kind in _STILL]
    if not any(v.curves() or v.checkpoint is not None for v in variants(bundle)):
        imported = bundle.config is None
        mend = "import the arrays too" if imported else "train first, then render"
        raise UserError(f"{bundle_path} holds no measurements to draw: {mend}")
    folder = Path(out) if out is not None else bundle.path / FIGURES
    # Drawing takes long.
    try_folder(folder)
    drawn = figures(bundle) if still else {}
    written = []
    with style():
        for name, figure in drawn.items():
            for kind in still:
                path = folder / f"{name}.{kind}"
                _save(figure, path, kind, _SHOWS[name])
                written.append(path)
    if "gif" in formats:
        written += write_animations(bundle, folder)
    if not written:
        raise UserError(
            f"{bundle_path} holds nothing that {' or '.join(dict.fromkeys(formats))} can show: "
            "leave --formats out for all that it does"
        )
    return written


def _save(figure: Figure, path: Path, kind: str, shows: str) -> None:
    # A date would make every file differ.
    metadata = (
        {"Date": None, "Title": shows}
        if kind == "svg"
        else {"Software": "velocity-ledger", "Description": shows}
    )

    def write(aside: Path) -> None:
        figure.savefig(aside, format=kind, metadata=metadata)

    write_aside(path, write)
