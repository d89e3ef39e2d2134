"""GIFs as files: palette, times, loop, and pixels that come back as they were drawn."""

import numpy as np
import pytest

from report.gifs import frames, taken_apart
from velocity_ledger.report.motion._gif import palette_of, write_gif

PALETTE = palette_of(["#000000", "#D55E00", "#0072B2"])


def picture(x):
    made = np.full((40, 60, 3), 255, np.uint8)
    made[10:20, x : x + 10] = (0xD5, 0x5E, 0x00)
    made[30, :] = 0
    return made


def test_frames_come_back_as_they_were(tmp_path):
    drawn = [picture(x) for x in (0, 5, 50, 7)]
    write_gif(tmp_path / "a.gif", drawn, [100, 50, 50, 2000], PALETTE, b"drawn from")
    for found, given in zip(frames(tmp_path / "a.gif"), drawn, strict=True):
        np.testing.assert_array_equal(found, given)
    gif = taken_apart(tmp_path / "a.gif")
    assert gif.size == (60, 40) and gif.loop == 0 and gif.own_palettes == 0
    assert gif.delays == [100, 50, 50, 2000]
    # What does not change is not written again.
    assert gif.places[0] == (0, 0, 60, 40) and gif.places[1] == (0, 10, 15, 10)
    assert [p.name for p in tmp_path.iterdir()] == ["a.gif"]


def test_frames_alike_keep_their_time(tmp_path):
    drawn = [picture(x) for x in (0, 0, 0, 5, 5, 0)]
    write_gif(tmp_path / "a.gif", drawn, [50, 50, 50, 50, 50, 900], PALETTE, b"drawn from")
    assert taken_apart(tmp_path / "a.gif").delays == [150, 100, 900]
    write_gif(tmp_path / "b.gif", [picture(3)] * 40, [50] * 39 + [2000], PALETTE, b"drawn from")
    still = taken_apart(tmp_path / "b.gif")
    assert sum(still.delays) == 39 * 50 + 2000 and still.loop == 0
    np.testing.assert_array_equal(frames(tmp_path / "b.gif")[0], picture(3))


def test_every_colour_goes_to_the_nearest_of_one_palette():
    colours = PALETTE.colours.astype(int)
    assert len(np.unique(colours, axis=0)) == len(colours) < 256
    for exact in ((255, 255, 255), (0, 0, 0), (0xD5, 0x5E, 0x00), (0x00, 0x72, 0xB2)):
        index = PALETTE.indices(np.array([[exact]], np.uint8))[0, 0]
        assert tuple(colours[index]) == exact
    given = np.random.default_rng(0).integers(0, 256, (1, 500, 3)).astype(np.uint8)
    chosen = colours[PALETTE.indices(given)[0]]
    far = np.linalg.norm(given[0, :, None].astype(int) - colours[None], axis=-1)
    taken = np.linalg.norm(given[0].astype(int) - chosen, axis=-1)
    # The table knows colours to a 64th of a channel: no worse than by that, twice.
    assert (taken <= far.min(1) + 2 * np.sqrt(3) * 255 / 63).all()
    assert PALETTE.indices(given).max() < PALETTE.unchanged


@pytest.mark.parametrize("count", [1, 9, 40])
def test_a_palette_of_many_colours_still_fits(count):
    colours = [f"#{k * 6:02x}{255 - k * 6:02x}40" for k in range(count)]
    palette = palette_of(colours)
    assert 2 <= len(palette.colours) <= 255
    assert len(palette.data()) == 3 * (palette.unchanged + 1)
    index = palette.indices(np.array([[[255, 255, 255]]], np.uint8))[0, 0]
    assert palette.colours[index].tolist() == [255, 255, 255]
