"""A learned scalar."""

from typing import Any

import jax
import jax.numpy as jnp

from velocity_ledger.errors import UserError
from velocity_ledger.integrators._contract import Context, Parameter
from velocity_ledger.integrators._value import Scalar
from velocity_ledger.integrators.coefficient._base import Coefficient

# name: (from the raw parameter, its inverse, lower and upper bound of what it can give)
_LINKS: dict[str, Any] = {
    "sigmoid": (jax.nn.sigmoid, lambda y: jnp.log(y) - jnp.log1p(-y), 0.0, 1.0),
    "softplus": (jax.nn.softplus, lambda y: y + jnp.log(-jnp.expm1(-y)), 0.0, float("inf")),
    "identity": (lambda r: r, lambda y: y, -float("inf"), float("inf")),
}


class Learned(Coefficient):
    """A scalar with a learned raw parameter r, which starts so that the scalar is `start`.

        s = link(r)

    `link` is `sigmoid` (0 < s < 1), `softplus` (s > 0) or `identity`; there is one scalar `per`
    sub_update, layer or model. Published starts: YuriiFormer and its relatives begin with raw
    parameters of 0, that is .5 under the sigmoid and ln 2 under the softplus (Gai et al. 2026,
    arXiv 2605.24425), or at .9 and 1 (Stein et al. 2026, arXiv 2603.16535).

    Raises `UserError` for another link or owner and for a start outside the link's range.
    """

    start: Scalar = 0.9
    link: str = "sigmoid"
    per: str = "sub_update"

    def __post_init__(self) -> None:
        if self.link not in _LINKS:
            raise UserError(f"a link is one of {', '.join(_LINKS)}, got {self.link!r}")
        if self.per not in ("sub_update", "layer", "model"):
            raise UserError(f"a scalar is learned per sub_update, layer or model, got {self.per!r}")
        _, _, low, high = _LINKS[self.link]
        if isinstance(self.start, (int, float)) and not low < self.start < high:
            raise UserError(
                f"a {self.link} gives values between {low:g} and {high:g}, it cannot start at "
                f"{self.start}"
            )

    @property
    def vanishes(self) -> bool:
        low = _LINKS[self.link][2]
        return low < 0

    @property
    def contracts(self) -> bool:
        high = _LINKS[self.link][3]
        return high <= 1

    def parameters(self, name: str) -> dict[str, Parameter]:
        raw = _LINKS[self.link][1](jnp.asarray(self.start, jnp.float32))
        return {name: Parameter(shape=(), init=raw, per=self.per)}  # pyright: ignore[reportArgumentType]

    def value(self, name: str, x: Any, ctx: Context) -> Any:
        del x
        return _LINKS[self.link][0](ctx.parameters[name].astype(jnp.float32))
