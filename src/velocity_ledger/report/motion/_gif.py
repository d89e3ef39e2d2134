"""Frames into a GIF that loops: one palette, no dithering, times kept."""

import dataclasses as dc
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Int, UInt8
from matplotlib.colors import to_rgb
from PIL import Image

from velocity_ledger._files import write_aside
from velocity_ledger.report.motion._seal import sealed

TICK = 50
"""Milliseconds that a frame stands; a GIF counts in tens."""
_BITS = 6  # A channel's bits in the table from colour to palette index.
_MOST = 255  # One of 256 indices stands for "unchanged".


@dc.dataclass(frozen=True, eq=False)
class Palette:
    """Colours, and the index of the nearest of them for every colour there is."""

    colours: UInt8[np.ndarray, "colours 3"]
    table: UInt8[np.ndarray, "codes"]

    def indices(self, frame: UInt8[np.ndarray, "h w 3"]) -> UInt8[np.ndarray, "h w"]:
        return self.table[_codes(frame >> (8 - _BITS))]

    @property
    def unchanged(self) -> int:
        """The index that no pixel has."""
        return len(self.colours)

    def data(self) -> bytes:
        """The palette as a GIF holds it; the last entry is never seen."""
        known = {tuple(colour) for colour in self.colours.tolist()}
        spare = next(c for c in ((1, g, 0) for g in range(256)) if c not in known)
        return self.colours.tobytes() + bytes(spare)


def palette_of(colours: Sequence[str]) -> Palette:
    """A palette of these colours, each with its way to white, which antialiased edges take."""
    named = list(dict.fromkeys(colours))
    shades = max(2, (_MOST - 1) // max(len(named), 1))
    found = [np.array([255, 255, 255])]
    for colour in named:
        rgb = 255 * np.array(to_rgb(colour))
        for share in np.linspace(0.0, 1.0, min(shades, 28), endpoint=False):
            found.append(np.rint(rgb + share * (255 - rgb)).astype(int))
    unique = list(dict.fromkeys(tuple(int(c) for c in colour) for colour in found))[:_MOST]
    entries = np.array(unique, np.int64)
    levels = np.arange(2**_BITS)
    grid = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), -1).reshape(-1, 3)
    # A code's middle; its two ends are exact.
    middle = np.rint(grid * 255 / (2**_BITS - 1)).astype(np.int64)
    # |a - b|^2 without |a|^2, which does not choose; in parts, since the whole is large.
    nearest = [
        ((entries**2).sum(1) - 2 * part @ entries.T).argmin(1) for part in np.split(middle, 64)
    ]
    return Palette(entries.astype(np.uint8), np.concatenate(nearest).astype(np.uint8))


def write_gif(
    path: Path,
    frames: Iterable[UInt8[np.ndarray, "h w 3"]],
    times: Sequence[int],
    palette: Palette,
    drawn_from: bytes,
) -> None:
    """Write frames, each for its time in milliseconds, to be shown for ever.

    A frame like the one before is not written again; its time is added to the other's. The file
    is sealed with `drawn_from`, the fingerprint of what it shows.
    """
    data = palette.data()

    def images() -> Iterator[Image.Image]:
        for frame in frames:
            image = Image.fromarray(palette.indices(frame))
            image.putpalette(data)
            yield image

    def write(aside: Path) -> None:
        rest = images()
        next(rest).save(
            aside,
            format="GIF",
            save_all=True,
            # Made one by one: together they are large.
            append_images=rest,
            duration=list(times),
            loop=0,
            # With these three, the palette is written once, and what does not change is left out.
            palette=data,
            optimize=True,
            transparency=palette.unchanged,
            disposal=1,
        )
        aside.write_bytes(sealed(aside.read_bytes(), drawn_from))

    write_aside(path, write)


def _codes(channels: UInt8[np.ndarray, "*shape 3"]) -> Int[np.ndarray, "*shape"]:
    wide = channels.astype(np.int32)
    return (wide[..., 0] << 2 * _BITS) | (wide[..., 1] << _BITS) | wide[..., 2]
