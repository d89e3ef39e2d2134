"""Optimizers that move the stream, as named compositions."""

from velocity_ledger.integrators._composition import Composition
from velocity_ledger.integrators._named import LN2
from velocity_ledger.integrators._value import Scalar
from velocity_ledger.integrators.coefficient import Learned, Number
from velocity_ledger.integrators.geometry import Flat
from velocity_ledger.integrators.momentum import Preconditioned
from velocity_ledger.integrators.preconditioner import (
    Orthogonal,
    Preconditioner,
    RightRoot,
    SecondMoment,
)
from velocity_ledger.integrators.step_scale import Fixed

DECAY = 0.0066928509
"""What a sigmoid gives for a raw parameter of -5."""


def _stepping_by(
    preconditioner: Preconditioner,
    beta1: Number | None,
    gain: Scalar,
    start: str = "zero",
    decay: Number = 0.0,
) -> Composition:
    momentum = Preconditioned(
        start=start,
        preconditioner=preconditioner,
        beta1=beta1,
        gamma=Learned(gain, "softplus"),
        decay=decay,
    )
    return Composition(momentum, Flat(), Fixed())


def adamformer(
    beta1: Scalar = 0.5, beta2: Scalar = 0.5, gain: Scalar = LN2, start: str = "zero"
) -> Composition:
    """Learned Adam: `m = b1 m + (1 - b1) f; s = b2 s + (1 - b2) f^2; x += gamma LN(m / sqrt s)`.

    As published the average starts from learned tables (`start="tokens"`).
    """
    return _stepping_by(SecondMoment(Learned(beta2)), Learned(beta1), gain, start)


def adamwformer(
    beta1: Scalar = 0.5,
    beta2: Scalar = 0.5,
    gain: Scalar = LN2,
    decay: Scalar = DECAY,
    start: str = "zero",
) -> Composition:
    """Learned Adam whose stream decays: `x = (1 - decay) x + gamma LN(m / sqrt s)`.

    As published the average starts from learned tables (`start="tokens"`).
    """
    second = SecondMoment(Learned(beta2))
    return _stepping_by(second, Learned(beta1), gain, start, Learned(decay))


def rmsformer(beta2: Scalar = 0.5, gain: Scalar = LN2) -> Composition:
    """Learned RMSProp: `s = b2 s + (1 - b2) f^2; x += gamma LN(f / sqrt s)`."""
    return _stepping_by(SecondMoment(Learned(beta2)), None, gain)


def muonformer(
    beta1: Scalar = 0.5, gain: Scalar = LN2, rows: int | None = None, start: str = "zero"
) -> Composition:
    """Learned Muon: `m = b1 m + (1 - b1) f; x += gamma LN(orthogonalised m)`.

    As published the average starts from learned tables (`start="tokens"`), and a token's matrix
    has a row a head (`rows`); left out, it is the squarest.
    """
    return _stepping_by(Orthogonal(rows), Learned(beta1), gain, start)


def orthoformer(gain: Scalar = LN2, rows: int | None = None) -> Composition:
    """Muon without a memory: `x += gamma LN(orthogonalised f)`.

    As published a token's matrix has a row a head (`rows`).
    """
    return _stepping_by(Orthogonal(rows), None, gain)


def soapformer(
    beta1: Scalar = 0.5,
    beta2: Scalar = 0.5,
    gain: Scalar = LN2,
    rows: int | None = None,
    root: str = "eigh",
    start: str = "zero",
) -> Composition:
    """Right-hand Shampoo of an average: `R = b2 R + (1 - b2) F^T F; x += gamma LN(M R^(-1/2))`.

    As published the average starts from learned tables (`start="tokens"`), a token's matrix has a
    row a head (`rows`), and the inverse root is that of 10 unconverged Newton steps
    (`root="newton"`).
    """
    return _stepping_by(RightRoot(rows, root, Learned(beta2)), Learned(beta1), gain, start)


def shampooformer(
    beta2: Scalar = 0.5, gain: Scalar = LN2, rows: int | None = None, root: str = "eigh"
) -> Composition:
    """Right-hand Shampoo: `R = b2 R + (1 - b2) F^T F; x += gamma LN(F R^(-1/2))`.

    As published a token's matrix has a row a head (`rows`), and the inverse root is that of 10
    unconverged Newton steps (`root="newton"`).
    """
    return _stepping_by(RightRoot(rows, root, Learned(beta2)), None, gain)
