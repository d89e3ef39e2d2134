"""The moving pictures of a bundle, as files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from velocity_ledger._files import try_folder, write_aside
from velocity_ledger.experiment import Bundle
from velocity_ledger.report._data import Facts, facts
from velocity_ledger.report._style import look, style
from velocity_ledger.report.motion import _one_step, _path_forming
from velocity_ledger.report.motion._gif import palette_of, write_gif
from velocity_ledger.report.motion._seal import fingerprint, is_sealed
from velocity_ledger.report.motion._walk import Walk, walks

ONE_STEP, PATH_FORMING = "one_step.gif", "path_forming.gif"
_Maker = tuple[Callable[[list[Walk], Facts], Any], tuple[str, ...]]


def write_animations(bundle: Bundle, folder: Path, kept: Path | None = None) -> list[Path]:
    """Write the moving pictures that the bundle has data for into `folder`; return their paths.

    `one_step.gif` shows what one sub-update does: two variants walk from x_0 to x_n as measured at
    their last training step. `path_forming.gif` shows their paths from the first training step to
    the last, for which there must be two. The variants are the first plain one and the first
    ledger; where one of these is missing, the reference and the next; or the only one. Points are
    put into the plane of the path's two principal axes where inner products of its steps were
    recorded, and else laid out from lengths and angles; the picture says which. Both last about
    twelve seconds and loop for ever. The same bundle gives the same bytes. `not_drawn` says what is
    left out, and why.

    A picture of the folder `kept` is taken instead of drawing it again where its seal shows that it
    is whole, and was drawn by this program from the same measurements.

    Raises `UserError` for a `folder` that cannot be written.
    """
    found, _ = walks(bundle)
    if not found:
        return []
    try_folder(folder)
    known = facts(bundle)
    scenes: dict[str, _Maker] = {ONE_STEP: (_one_step.Scene, _one_step.COLOURS)}
    if len(_path_forming.common_steps(found)) > 1:
        scenes[PATH_FORMING] = (_path_forming.Scene, _path_forming.COLOURS)
    own = [colour for walk in found for colour in _colours(walk)]
    written = []
    for name, (make, colours) in scenes.items():
        path, drawn_from = folder / name, fingerprint(name, found, known)
        content = _kept(kept / name, drawn_from) if kept is not None else None
        if content is not None:
            write_aside(path, lambda aside, content=content: aside.write_bytes(content))
        else:
            _draw(path, lambda make=make: make(found, known), [*colours, *own], drawn_from)
        written.append(path)
    return written


def _draw(path: Path, make: Callable[[], Any], colours: list[str], drawn_from: bytes) -> None:
    with style():
        scene = make()
        write_gif(path, scene.frames(), scene.times, palette_of(colours), drawn_from)


def _kept(path: Path, drawn_from: bytes) -> bytes | None:
    try:
        content = path.read_bytes()
    except OSError:
        return None
    return content if is_sealed(content, drawn_from) else None


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
