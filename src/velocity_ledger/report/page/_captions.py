"""What the moving pictures show, in words: for those who do not see them, and below them."""

from collections.abc import Sequence

from velocity_ledger.experiment import Bundle
from velocity_ledger.report.motion._path_forming import common_steps
from velocity_ledger.report.motion._walk import walks
from velocity_ledger.report.page._numbers import listed, number


def captions(bundle: Bundle, name: str) -> tuple[str, str]:
    """Text instead of the picture of this name, and its caption."""
    found, _ = walks(bundle)
    who = listed([walk.variant.text for walk in found])
    seeds = sorted({walk.seed for walk in found})
    cell = f"seed {listed([str(seed) for seed in seeds])}"
    if found and all(walk.known for walk in found):
        plane = (
            "The plane is that of the path’s two principal axes, fitted on the recorded states: "
            "a projection, the rest of the path is not seen."
        )
    elif any(walk.known for walk in found):
        plane = (
            "Where directions were recorded the plane is that of the path’s two principal axes; "
            "elsewhere mean lengths and mean angles are laid out, turning left and right in turn."
        )
    else:
        plane = (
            "No directions were recorded: mean lengths and mean angles are laid out in a plane, "
            "turning left and right in turn."
        )

    def ends(steps: Sequence[int]) -> str:
        turns = [
            walk.looks[step].numbers.get("turning_angle")
            for walk, step in zip(found, steps, strict=True)
        ]
        return "; ".join(
            f"{walk.variant.text} turns by {number(turn, 1)}° on average"
            for walk, turn in zip(found, turns, strict=True)
            if turn is not None
        )

    if name == "one_step":
        what = f"A point walks the path of {who}, sub-update by sub-update"
        said = ends([walk.last for walk in found])
        alt = f"{what}. {said}." if said else f"{what}."
        return alt, f"What one sub-update does: {who} as last measured, {cell}. {plane}"
    if name == "path_forming":
        steps = common_steps(found)
        first, last = steps[0], steps[-1]
        what = f"The path of {who} from training step {first:,} to step {last:,}"
        said = ends([last] * len(found))
        alt = f"{what}. At the end {said}." if said else f"{what}."
        return alt, (
            f"The path forming over training: {who}, {cell}, steps {first:,} to {last:,}. {plane}"
        )
    return f"Moving picture {name.replace('_', ' ')}", name.replace("_", " ").capitalize()
