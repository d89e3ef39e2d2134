"""The answer in a few sentences, every number computed and every word no stronger than it."""

import dataclasses as dc
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from velocity_ledger.experiment import Bundle, Row, no_ranking, summary
from velocity_ledger.report.page._numbers import bounds, listed, number, signed
from velocity_ledger.report.page._paths import Measured

_FEW = 5
"""Of more variants, sentences name the first and the ends; the table has all."""


@dc.dataclass(frozen=True)
class Verdict:
    """A headline and what stands beside it, in plain text, and paragraphs, each with its title."""

    headline: str
    beside: str
    paragraphs: list[tuple[str, Markup]]


def verdict(bundle: Bundle, measured: Sequence[Measured]) -> Verdict:
    """What a run says of quality and of the path, from its summary and its measured paths."""
    rows = summary(bundle)
    by = {(m.variant.text, m.quantity.name): m for m in measured}
    said = {
        "Quality": _quality(bundle, rows),
        "Path": _path(rows, by),
        "Null model": _nulls(rows, by),
    }
    return Verdict(
        *_headline(bundle, rows, by),
        [(about, sentences) for about, sentences in said.items() if sentences],
    )


def _headline(
    bundle: Bundle, rows: Sequence[Row], by: Mapping[tuple[str, str], Measured]
) -> tuple[str, str]:
    """The turning angles of the first variant and the first with a velocity, and their nulls."""
    turns = {r.variant: m for r in rows if (m := by.get((r.variant, "turning_angle"))) is not None}
    first = rows[0].variant if rows else ""
    with_velocity = {
        v["text"]
        for v in bundle.variants
        if str(_axes(v).get("momentum", "Euler")).partition("(")[0] != "Euler"
    }
    # What diverged is in the tables, and no headline.
    lost = {r.variant for r in rows if "diverged" in r.state and "finished" not in r.state}
    turns = {text: m for text, m in turns.items() if text not in lost}
    others = [text for text in turns if text != first]
    other = next((text for text in others if text in with_velocity), others[0] if others else None)
    chosen = [text for text in (other, first) if text in turns]
    if chosen:
        means = [f"{number(turns[text].mean.mean, 1)}°" for text in chosen]
        nulls = [turns[text].null for text in chosen]
        headline = f"Steps of {_short(chosen[0])} turn by {means[0]} on average"
        if len(chosen) > 1:
            headline += f", those of {_short(chosen[1])} by {means[1]}"
        read = {r.variant: r.checkpoint for r in rows}
        if len({read[text] for text in chosen}) > 1:
            headline += ", read at different steps"
        if any(null is None for null in nulls):
            return headline, "There is no null model to compare with."
        words = listed([f"{number(null, 1)}°" for null in nulls])
        return headline, f"The same updates over unrelated increments would turn by {words}."
    known = [(r.variant, r.best_val) for r in rows if r.best_val is not None]
    if known:
        loss = number(known[0][1], 4)
        return f"{_short(known[0][0])}: {loss} nats per character", "No path has been measured yet."
    return "Nothing has been measured yet", ""


def _name(text: str) -> Markup:
    # A long name must be broken somewhere, a short one never.
    return Markup('<b class="name{}">{}</b>').format(" long" if len(text) > 24 else "", text)


def _axes(variant: Mapping[str, object]) -> Mapping[str, object]:
    axes = variant.get("axes")
    return axes if isinstance(axes, Mapping) else {}


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"


def _join(parts: Sequence[str | Markup]) -> Markup:
    words = list(parts)
    if not words:
        return Markup("")
    if len(words) == 1:
        return Markup("{}").format(words[0])
    return Markup("{} and {}").format(Markup(", ").join(words[:-1]), words[-1])


def _range(values: Sequence[tuple[float, Markup]]) -> Markup:
    """All of few; of many the first one and the ends."""
    texts = [text for _, text in values]
    if len(values) <= _FEW:
        return _join(texts)
    ordered = [text for _, text in sorted(values, key=lambda value: value[0])]
    return Markup("{}; it goes from {} to {}").format(texts[0], ordered[0], ordered[-1])


def _sentences(parts: Sequence[str | Markup]) -> Markup:
    return Markup(" ").join(part for part in parts if part)


def _quality(bundle: Bundle, rows: Sequence[Row]) -> Markup:
    known = [r for r in rows if r.best_val is not None]
    if not known:
        return Markup("No cell has been validated yet, so nothing is known of quality.")
    said: list[str | Markup] = []
    paired = [r for r in rows[1:] if r.difference is not None]
    if paired:
        first = _name(rows[0].variant)
        told = (
            Markup(
                "Against {} at the same seed, the best validation loss is, in nats per character, "
                "{}."
            ).format(first, _join([_difference(r) for r in paired]))
            if len(paired) < _FEW
            else Markup(
                "The table has each variant’s best validation loss minus that of {} at the same "
                "seed, in nats per character."
            ).format(first)
        )
        said.append(told)
        said += _weight(paired)
        counts = [r.difference.n for r in paired if r.difference is not None]
        unfit = no_ranking(bundle, counts)
        said += [unfit] if unfit else []
    else:
        losses = [
            Markup("{} nats per character for {}").format(number(r.best_val, 4), _named(r))
            for r in known
        ]
        said.append(Markup("The best validation loss is {}.").format(_join(losses)))
        if len(rows) > 1:
            said.append("No two variants are equally far at one seed, so none are compared.")
        else:
            said.append("There is no other variant to compare it with.")
    missing = [r for r in rows[1:] if r not in paired] if paired else []
    if missing:
        names = _join([_name(r.variant) for r in missing])
        said.append(
            Markup("No difference is given for {}: diverged, or not as far as {}.").format(
                names, _name(rows[0].variant)
            )
        )
    late = [r for r in known if r.not_converged]
    if late:
        steps = sorted({r.last_validation for r in late if r.last_validation is not None})
        where = listed([f"{s:,}" for s in steps])
        every = all(set(r.not_converged) == set(r.seeds) for r in known)
        which = (
            Markup("every cell")
            if every
            else Markup("{} of {} cells").format(
                sum(len(r.not_converged) for r in late), sum(len(r.seeds) for r in known)
            )
        )
        said.append(
            Markup(
                "Not converged: in {} the last validation was the best, read at step {}."
            ).format(which, where)
        )
    return _sentences(said)


def _named(row: Row) -> Markup:
    diverged = "diverged" in row.state and "finished" not in row.state
    return Markup("{} (diverged)").format(_name(row.variant)) if diverged else _name(row.variant)


def _difference(row: Row) -> Markup:
    assert row.difference is not None
    mean = row.difference.mean
    interval = bounds(row.difference, 4)
    size = number(abs(mean), 4)
    word = "lower" if mean < 0 else "higher"
    if float(size.replace(",", "") if size != "–" else "nan") == 0.0:
        amount = Markup("the same to four digits")
    else:
        amount = Markup("<b>{}</b> {}").format(size, word)
    about = Markup(" {}").format(interval) if interval else Markup("")
    return Markup("{} for {}{}").format(amount, _name(row.variant), about)


def _weight(paired: Sequence[Row]) -> list[str | Markup]:
    """How much the differences can bear."""
    single = [r for r in paired if r.difference is not None and r.difference.low is None]
    if len(single) == len(paired):
        return ["One seed gives no interval: this describes these runs."]
    said: list[str | Markup] = []
    several = [r for r in paired if r not in single]
    seeds = sorted({r.difference.n for r in several if r.difference is not None})
    apart = [r for r in several if not _spans_zero(r)]
    within = [r for r in several if _spans_zero(r)]
    said.append(f"In brackets are 95 % intervals over {listed([str(n) for n in seeds])} seeds.")
    for some, words in (
        (within, "That of {} includes zero: no difference is shown."),
        (apart, "That of {} excludes zero."),
    ):
        if some:
            said.append(Markup(words).format(_join([_name(r.variant) for r in some])))
    if single:
        names = _join([_name(r.variant) for r in single])
        said.append(Markup("One seed gives no interval for {}.").format(names))
    return said


def _spans_zero(row: Row) -> bool:
    d = row.difference
    assert d is not None and d.low is not None and d.high is not None
    return d.low <= 0.0 <= d.high


def _path(rows: Sequence[Row], by: Mapping[tuple[str, str], Measured]) -> Markup:
    said: list[str | Markup] = []
    reference = rows[0].variant if rows else ""
    lengths = []
    for row in rows:
        m = by.get((row.variant, "path_length"))
        if m is None:
            continue
        own = by.get((reference, "path_length"))
        share = ""
        if row.variant != reference and own is not None and own.mean.mean > 0 and _alike(m, own):
            share = f" ({number(m.mean.mean / own.mean.mean, 2)} of that)"
        told = Markup("<b>{}</b> for {}{}").format(number(m.mean.mean, 1), _named(row), share)
        lengths.append((m.mean.mean, told))
    if lengths:
        counts = sorted({m.mean.n for m in by.values()})
        where = "On one seed" if counts == [1] else f"Over {listed([str(n) for n in counts])} seeds"
        words = Markup("{} the mean path length through depth is {}.")
        said.append(words.format(where, _range(lengths)))
    for name, words in (
        ("turning_angle", "Between one step and the next it turns by {}."),
        ("straightness", "Straightness, chord over path, is {}."),
    ):
        values = [
            (
                m.mean.mean,
                Markup("<b>{}{}</b> for {}").format(
                    number(m.mean.mean, m.quantity.digits),
                    "°" if name == "turning_angle" else "",
                    _named(row),
                ),
            )
            for row in rows
            if (m := by.get((row.variant, name))) is not None
        ]
        if values:
            said.append(Markup(words).format(_range(values)))
    if not said:
        return Markup("No path has been measured yet.")
    steps = {r.variant: r.checkpoint for r in rows if (r.variant, "path_length") in by}
    if len(set(steps.values())) > 1:
        read = listed(
            [f"step {step:,} of {_short(text)}" for text, step in steps.items() if step is not None]
        )
        said.append(f"These were read at different steps, and do not compare: {read}.")
    if not any(name == "straightness" for _, name in by):
        said.append("Straightness is not known: no chord was recorded.")
    if len(lengths) > 1:
        said.append(
            "Lengths of different variants are not on one scale, because the final norm ignores "
            "that of the stream; angles and ratios are."
        )
    return _sentences(said)


def _alike(a: Measured, b: Measured) -> bool:
    """Whether two variants were measured at one step, on the same seeds."""
    return a.variant.checkpoint == b.variant.checkpoint and set(a.variant.cells) == set(
        b.variant.cells
    )


def _nulls(rows: Sequence[Row], by: Mapping[tuple[str, str], Measured]) -> Markup:
    parts = []
    for row in rows:
        words: list[str | Markup] = []
        path = by.get((row.variant, "path_length"))
        if path is not None and path.ratio is not None:
            words.append(Markup("<b>{}</b> times its null’s path").format(number(path.ratio, 2)))
        turn = by.get((row.variant, "turning_angle"))
        if turn is not None and turn.from_null is not None:
            less = turn.from_null.mean < 0
            words.append(
                Markup("turns <b>{}°</b> {}").format(
                    number(abs(turn.from_null.mean), 1), "less" if less else "more"
                )
            )
        straight = by.get((row.variant, "straightness"))
        if straight is not None and straight.from_null is not None:
            words.append(
                Markup("straightness <b>{}</b>").format(signed(straight.from_null.mean, 3))
            )
        if words:
            parts.append(Markup("{}: {}").format(_named(row), Markup(", ").join(words)))
    if parts:
        rest = " The table has the others." if len(parts) > _FEW else ""
        return Markup(
            "An update has a path of its own, whatever it learned: the null model runs the same "
            "update over unrelated (mutually orthogonal) increments of the measured lengths. "
            "Beside it, {}.{}"
        ).format(Markup("; ").join(parts[:2] if rest else parts), rest)
    if by:
        return Markup(
            "This bundle holds no null model, so it cannot be said how much of these paths is the "
            "arithmetic of the update and how much was learned."
        )
    return Markup("")
