"""What a moving picture says of itself below it: where its numbers come from, and its plane."""

from collections.abc import Sequence

from velocity_ledger.report.motion._geometry import Placed
from velocity_ledger.report.motion._stage import listed
from velocity_ledger.report.motion._walk import Walk


def small_print(
    walks: Sequence[Walk],
    placed: Sequence[Placed],
    names: Sequence[str],
    *,
    when: str,
    plane_at: str = "",
    more: Sequence[str] = (),
) -> str:
    """Of which training step, cells and plane the paths `placed` are, and what is `more` to say."""
    first = f"{when}, {_cell_note(walks)}"
    first += "; one scale for both." if len(walks) > 1 else "."
    return " ".join([first, _plane_note(walks, placed, names, plane_at), *more])


def _cell_note(walks: Sequence[Walk]) -> str:
    """Whose path it is."""
    seeds = list(dict.fromkeys(str(walk.seed) for walk in walks))
    several = max(walk.seeds for walk in walks)
    text = f"seed {listed(seeds)}" + (f" of {several} seeds" if several > 1 else "")
    tokens = {walk.tokens for walk in walks}
    count = tokens.pop() if len(tokens) == 1 else None
    return f"{text}, {count:,} tokens together" if count else text


def _plane_note(
    walks: Sequence[Walk], placed: Sequence[Placed], names: Sequence[str], plane_at: str
) -> str:
    """How the plane was chosen, and what it does not show."""
    known = [k for k, walk in enumerate(walks) if walk.known]
    parts = []
    if known:
        shares = []
        for k in known:
            of = ("", "") if shares else (" of the variance", " of the length")
            variance, length = _share(placed[k].variance), _share(placed[k].length)
            shares.append(f"{variance}{of[0]}, {length}{of[1]} ({names[k]})")
        each = "the path's" if len(walks) == 1 else "each path's own"
        parts.append(
            f"Plane: {each} two main axes, fitted to the recorded states; {plane_at}they hold "
            f"{'; '.join(shares)}; turns out of it are not seen."
        )
    unknown = [names[k] for k in range(len(walks)) if k not in known]
    if unknown:
        who = f" of {listed(unknown)}" if known else ""
        parts.append(
            f"Directions{who} were not recorded: mean lengths and turning angles, laid out left "
            "and right in turn."
        )
    return " ".join(parts)


def _share(share: float) -> str:
    text = f"{100 * share:.0f} %"
    return "over 99 %" if text == "100 %" and share < 0.9999 else text
