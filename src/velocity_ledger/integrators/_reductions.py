"""What a named integrator becomes at the edge of its arguments."""

import dataclasses as dc

_ROUNDED_LATER = "1 - mu of a changing mu is rounded to the stream's dtype, of a number before it"
_LOGARITHM = "a sigmoid of a logarithm is not exact"
_CLOSE = 2e-6  # float32 sums of a few steps of size 1


@dc.dataclass(frozen=True)
class Reduction:
    """Under a setting of its arguments an integrator equals another one.

    `setting` is written as in the text form, `to` is the other's text form. They agree bit for bit
    where `tolerance` is 0; where it is not, `why` says what the arithmetic does not allow. One that
    is `evaluated` holds without a key only, as in evaluation: in training the integrator draws.
    Fields are all of one kind here: an integrator that cuts a layer otherwise than the other one,
    or keeps attention and MLP apart, makes another model.

        Reduction("mu=0", "plain")
    """

    setting: str
    to: str
    tolerance: float = 0.0
    why: str = ""
    evaluated: bool = False


_HALVES = "half of each field is added before or after halving"
_LITTLE = "1 - 1e-9 is 1 in float32, but the memory keeps its rest"

REDUCTIONS: dict[str, tuple[Reduction, ...]] = {
    "plain": (Reduction("h=ledger_gain(mu=.9)", "damped-euler"),),
    "ledger": (
        Reduction("mu=0", "plain"),
        Reduction("mu=0, debias=True", "plain"),
        Reduction("mu=0, damped=False", "plain"),
        Reduction("mu=linear(0, 0)", "plain"),
        Reduction("mu=cosine(.5, .5)", "ledger(mu=linear(.5, .5))"),
        Reduction("mu=.9", "ledger(mu=linear(.9, .9))", _CLOSE, _ROUNDED_LATER),
    ),
    "ngpt-ledger": (Reduction("mu=0", "ngpt-lite"),),
    "damped-euler": (Reduction("mu=0", "plain"),),
    "rezero": (Reduction("start=1", "plain"),),
    "layer-scale": (Reduction("alpha=1", "plain"),),
    "learned-ledger": (Reduction("mu=.9", "ledger(mu=.9)", _CLOSE, _LOGARITHM),),
    "nesterov": (Reduction("mu=0, gamma=1", "plain"),),
    "midpoint-a": (Reduction("centre=0, spread=0", "plain"),),
    "split-ledger": (
        Reduction("", "ledger"),
        Reduction("debias=True", "ledger(debias=True)"),
        Reduction("start='bootstrap'", "ledger(start='bootstrap')"),
    ),
    "coasting-ledger": (Reduction("mu=0", "plain"),),
    "gated-rk2": (Reduction("", "heun", _CLOSE, _HALVES),),
    "adamwformer": (Reduction("decay=1e-12", "adamformer"),),
    "adamformer": (Reduction("beta1=1e-9", "rmsformer", _CLOSE, _LITTLE),),
    "soapformer": (Reduction("beta1=1e-9", "shampooformer", _CLOSE, _LITTLE),),
    "hyper-connections": (Reduction("", "plain"), Reduction("streams=1", "plain")),
    "dynamic-hyper-connections": (Reduction("", "plain"),),
    "manifold-hyper-connections": (
        Reduction("scale=0, sharpness=60", "plain", _CLOSE, "four streams are summed"),
        Reduction("streams=1, scale=0, sharpness=60", "plain", _CLOSE, "a sigmoid of 60"),
    ),
    "denseformer": (Reduction("", "plain"), Reduction("dilation=2, period=2", "plain")),
    "bdia": (Reduction("gamma=0", "plain"), Reduction("gamma=.5", "plain", evaluated=True)),
}
