"""The moving pictures of a bundle, as files."""

from pathlib import Path

from velocity_ledger._files import try_folder
from velocity_ledger.experiment import Bundle
from velocity_ledger.report._data import facts
from velocity_ledger.report._style import look, style
from velocity_ledger.report.motion import _one_step, _path_forming
from velocity_ledger.report.motion._gif import palette_of, write_gif
from velocity_ledger.report.motion._walk import Walk, walks

ONE_STEP, PATH_FORMING = "one_step.gif", "path_forming.gif"


def write_animations(bundle: Bundle, folder: Path) -> list[Path]:
    """Write the moving pictures that the bundle has data for into `folder`; return their paths.

    `one_step.gif` shows what one sub-update does: two variants walk from x_0 to x_n as measured at
    their last training step. `path_forming.gif` shows their paths from the first training step to
    the last, for which there must be two. The variants are the first plain one and the first
    ledger; where one of these is missing, the reference and the next; or the only one. Points are
    put into the plane of the path's two principal axes where inner products of its steps were
    recorded, and else laid out from lengths and angles; the picture says which. Both last about
    twelve seconds and loop for ever. The same bundle gives the same bytes. `not_drawn` says what is
    left out, and why.

    Raises `UserError` for a `folder` that cannot be written.
    """
    found, _ = walks(bundle)
    if not found:
        return []
    try_folder(folder)
    known = facts(bundle)
    colours = [c for walk in found for c in _colours(walk)]
    written = [folder / ONE_STEP]
    with style():
        one = _one_step.Scene(found, known)
        palette = palette_of([*_one_step.COLOURS, *colours])
        write_gif(folder / ONE_STEP, one.frames(), one.times, palette)
        if len(_path_forming.common_steps(found)) > 1:
            forming = _path_forming.Scene(found, known)
            palette = palette_of([*_path_forming.COLOURS, *colours])
            write_gif(folder / PATH_FORMING, forming.frames(), forming.times, palette)
            written.append(folder / PATH_FORMING)
    return written


def not_drawn(bundle: Bundle) -> dict[str, str]:
    """Say why a measured variant, by its text, or a picture, by its file's name, is not drawn."""
    found, reasons = walks(bundle)
    if not found:
        return reasons
    if len(_path_forming.common_steps(found)) < 2:
        several = "both variants were measured" if len(found) > 1 else "the path was measured"
        reasons[PATH_FORMING] = f"it needs two training steps at which {several}"
    return reasons


def _colours(walk: Walk) -> tuple[str, str]:
    drawn = look(walk.variant.index)
    return drawn.colour, drawn.ink
