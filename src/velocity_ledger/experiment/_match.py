"""The reference enlarged to what another variant has: parameters, or FLOPs a token."""

import dataclasses as dc
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from velocity_ledger.errors import UserError
from velocity_ledger.experiment import _own
from velocity_ledger.experiment._config import MATCH_TOLERANCE, By, ExperimentConfig, Match
from velocity_ledger.experiment._describe import forward_flops, parameter_count
from velocity_ledger.experiment._variants import Variant, variants_of
from velocity_ledger.model import ModelConfig

_COST: dict[str, Callable[..., int]] = {"params": parameter_count, "flops": forward_flops}
_MOST = 4096  # of anything that is tried
_SIZES = {f"model.{name}": name for name in ("layers", "width", "hidden")}


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
    variants: Sequence[Variant], config: ExperimentConfig, done: Collection[str] = ()
) -> tuple[list[Variant], dict[str, Matched]]:
    """Return the variants and the enlarged references, and which variant has which as its rival.

    `config.model` holds the corpus's vocabulary. The reference is the first variant; it is made
    wider (hidden units in proportion, heads as many) or deeper, or less so, until it is as near as
    it gets, and then gets some hidden units more or less: steps of width and depth are coarse. The
    reference in another size, as an earlier match made it, has no rival.

    Those that are `done`, by their text, have been through this: neither they nor their rivals get
    another one.

    Raises `UserError` where no size is near.
    """
    if config.match == "none":
        return list(variants), {}
    reference = variants[0]
    base = reference.configure(config).model
    own_size = _size(reference, base, config.match)
    found: dict[str, Matched] = {}
    for variant in variants[1:]:
        if variant.text in done or _is_another_size(variant, reference):
            continue
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


def _is_another_size(variant: Variant, reference: Variant) -> bool:
    def but_size(own: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in own.items() if name not in _SIZES}

    same = variant.form == reference.form
    return same and but_size(variant.own) == but_size(reference.own)


def _size(variant: Variant, model: ModelConfig, match: Match) -> int:
    return _COST[match](variant.integrator, model)


def _nearest(
    reference: Variant, base: ModelConfig, wanted: int, match: Match, by: By
) -> tuple[str, int]:
    """The reference's text and size where it is nearest to `wanted`."""
    unit = 2 if base.positions == "rope" and by == "width" else 1

    def size(shape: ModelConfig) -> int:
        return _size(reference, shape, match)

    def enlarged(k: int) -> ModelConfig:
        return _enlarged(base, by, unit * k)

    coarse = enlarged(_closest(lambda k: size(enlarged(k)), wanted, 1, _MOST))

    def filled(hidden: int) -> ModelConfig:
        return dc.replace(coarse, hidden=hidden)

    # So far from its proportion at most, or the shape would be another kind of network.
    least, most = max(1, round(coarse.hidden / 2)), 2 * coarse.hidden
    shape = filled(_closest(lambda hidden: size(filled(hidden)), wanted, least, most))
    changed = {
        setting: getattr(shape, name)
        for setting, name in _SIZES.items()
        if getattr(shape, name) != getattr(base, name)
    }
    text = _own.join(reference.form, _own.ordered({**reference.own, **changed}))
    return text, size(shape)


def _closest(size: Callable[[int], int], wanted: int, low: int, high: int) -> int:
    """The number in a range whose size, which grows with it, is nearest to `wanted`."""
    top = low
    # Sizes of large networks take long to count.
    while size(top) < wanted and top < high:
        low, top = top, min(2 * top, high)
    while top - low > 1:
        middle = (low + top) // 2
        low, top = (middle, top) if size(middle) < wanted else (low, middle)
    return min((low, top), key=lambda k: abs(size(k) - wanted))


def _enlarged(base: ModelConfig, by: By, k: int) -> ModelConfig:
    if by == "depth":
        return dc.replace(base, layers=k)
    width = k * base.heads
    return dc.replace(base, width=width, hidden=max(1, round(width * base.hidden / base.width)))
