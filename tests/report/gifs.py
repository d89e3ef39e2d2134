"""A GIF taken apart, block by block."""

import dataclasses as dc
from pathlib import Path

import numpy as np
from PIL import Image


@dc.dataclass
class Gif:
    """What a GIF's blocks say; delays in milliseconds."""

    size: tuple[int, int]
    colours: int
    delays: list[int]
    places: list[tuple[int, int, int, int]]
    own_palettes: int
    loop: int | None


def taken_apart(path: Path) -> Gif:
    data = path.read_bytes()
    assert data[:6] == b"GIF89a" and data[-1:] == b";"
    size = (int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little"))
    assert data[10] & 128
    colours = 2 << (data[10] & 7)
    gif = Gif(size, colours, [], [], 0, None)
    at = 13 + 3 * colours

    def blocks(at: int) -> tuple[bytes, int]:
        whole = b""
        while data[at]:
            whole += data[at + 1 : at + 1 + data[at]]
            at += 1 + data[at]
        return whole, at + 1

    while data[at : at + 1] != b";":
        if data[at] == 0x21:
            content, after = blocks(at + 2)
            if data[at + 1] == 0xF9:
                gif.delays.append(10 * int.from_bytes(content[1:3], "little"))
            elif content.startswith(b"NETSCAPE2.0"):
                gif.loop = int.from_bytes(content[12:14], "little")
            at = after
            continue
        assert data[at] == 0x2C
        numbers = [
            int.from_bytes(data[at + 1 + 2 * k : at + 3 + 2 * k], "little") for k in range(4)
        ]
        gif.places.append((numbers[0], numbers[1], numbers[2], numbers[3]))
        gif.own_palettes += bool(data[at + 9] & 128)
        at += 10 + (3 * (2 << (data[at + 9] & 7)) if data[at + 9] & 128 else 0)
        _, at = blocks(at + 1)
    return gif


def frames(path: Path) -> list[np.ndarray]:
    """The frames as a viewer shows them."""
    found = []
    with Image.open(path) as image:
        for k in range(getattr(image, "n_frames", 1)):
            image.seek(k)
            found.append(np.asarray(image.convert("RGB")))
    return found
