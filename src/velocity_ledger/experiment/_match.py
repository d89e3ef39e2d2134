"""The reference enlarged to what another variant has: parameters, or FLOPs a token."""

import dataclasses as dc
from collections.abc import Callable, Sequence

from velocity_ledger.errors import UserError
from velocity_ledger.experiment import _own
from velocity_ledger.experiment._config import MATCH_TOLERANCE, By, ExperimentConfig, Match
from velocity_ledger.experiment._describe import forward_flops, parameter_count
from velocity_ledger.experiment._variants import Variant, variants_of
from velocity_ledger.model import ModelConfig

_COST: dict[str, Callable[..., int]] = {"params": parameter_count, "flops": forward_flops}
_MOST = 4096  # of anything that is tried


@dc.dataclass(frozen=True)
class Matched:
    """A variant's rival of its own size."""

    text: str
    """The enlarged reference, a variant too."""
    size: int
    """Its parameters, or FLOPs a token."""
    wanted: int
    """Those of the variant that it is for."""


def with_matches(
    variants: Sequence[Variant], config: ExperimentConfig
) -> tuple[list[Variant], dict[str, Matched]]:
    """Return the variants and the enlarged references, and which variant has which as its rival.

    `config.model` holds the corpus's vocabulary. The reference is the first variant; it is made
    wider (hidden units in proportion, heads as many) or deeper until it is as near as it gets.
    Raises `UserError` where no size is near.
    """
    if config.match == "none":
        return list(variants), {}
    reference = variants[0]
    base = reference.configure(config).model
    own_size = _size(reference, base, config.match)
    found: dict[str, Matched] = {}
    for variant in variants[1:]:
        wanted = _size(variant, variant.configure(config).model, config.match)
        if abs(wanted - own_size) <= MATCH_TOLERANCE * own_size:
            continue
        text, size = _nearest(reference, base, wanted, config.match, config.match_by)
        if abs(size - wanted) > 0.1 * wanted:
            raise UserError(
                f"no {config.match_by} of {reference.text} comes within 10 % of {variant.text}'s "
                f"{config.match}: match by {'depth' if config.match_by == 'width' else 'width'}"
            )
        found[variant.text] = Matched(text, size, wanted)
    texts = [v.text for v in variants]
    new = [text for text in dict.fromkeys(m.text for m in found.values()) if text not in texts]
    return variants_of([*texts, *new]), found


def _size(variant: Variant, model: ModelConfig, match: Match) -> int:
    return _COST[match](variant.integrator, model)


def _nearest(
    reference: Variant, base: ModelConfig, wanted: int, match: Match, by: By
) -> tuple[str, int]:
    """The reference's text and size where it is nearest to `wanted`; the size grows with either."""

    unit = 2 if base.positions == "rope" and by == "width" else 1

    def size(k: int) -> int:
        return _size(reference, _enlarged(base, by, unit * k), match)

    low, high = 1, 1
    while size(high) < wanted and high < _MOST:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if size(middle) < wanted else (low, middle)
    best = min((low, high), key=lambda k: abs(size(k) - wanted))
    shape = _enlarged(base, by, unit * best)
    changed = {
        f"model.{name}": getattr(shape, name)
        for name in ("layers", "width", "hidden")
        if getattr(shape, name) != getattr(base, name)
    }
    text = _own.join(reference.form, _own.ordered({**reference.own, **changed}))
    return text, size(best)


def _enlarged(base: ModelConfig, by: By, k: int) -> ModelConfig:
    if by == "depth":
        return dc.replace(base, layers=k)
    width = k * base.heads
    return dc.replace(base, width=width, hidden=max(1, round(width * base.hidden / base.width)))
