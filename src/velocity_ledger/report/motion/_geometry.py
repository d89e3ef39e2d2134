"""Paths as points of a plane: from inner products of their steps, or from lengths and angles."""

import dataclasses as dc

import numpy as np
from jaxtyping import Float
from scipy.linalg import orthogonal_procrustes


@dc.dataclass(frozen=True, eq=False)
class Placed:
    """A path in its principal axes, x_0 at the origin.

    A vector with the inner products b_k = <u, d_k> with the steps has the coordinates b @ axes;
    what is orthogonal to the plane is not seen.
    """

    points: Float[np.ndarray, "states dims"]
    axes: Float[np.ndarray, "steps dims"]
    variance: float
    """Share of the variance of the states that these axes hold."""
    length: float
    """Share of the length of the steps that is seen in them."""

    def turned(self, rotation: Float[np.ndarray, "dims dims"]) -> "Placed":
        """The same in axes turned about x_0."""
        return dc.replace(self, points=self.points @ rotation, axes=self.axes @ rotation)


def place(gram: Float[np.ndarray, "steps steps"], dims: int = 2) -> Placed:
    """Put a path into the first principal axes of its states (classical scaling).

    The states are x_k = d_1 + ... + d_k. With M the matrix that sums steps to states and centres
    them, M G M^T holds the inner products of the centred states; from its eigenvectors U and
    eigenvalues l the states are U sqrt(l), and a vector's coordinates are its inner products with
    the steps times M^T U / sqrt(l). With all dims every distance between states is exact.

    Source: Torgerson 1952, Psychometrika 17.
    """
    gram = np.asarray(gram, np.float64)
    n = len(gram)
    summing = np.tril(np.ones((n + 1, n)), -1)
    summing -= summing.mean(0)
    values, vectors = np.linalg.eigh(summing @ ((gram + gram.T) / 2) @ summing.T)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    total = float(values.sum())
    # What is only rounding would be divided by itself.
    kept = values > 1e-12 * max(total, np.finfo(float).tiny)
    values, roots = np.where(kept, values, 0.0), np.sqrt(np.where(kept, values, 1.0))
    points = np.zeros((n + 1, dims))
    axes = np.zeros((n, dims))
    most = min(dims, n + 1)
    points[:, :most] = (vectors * np.sqrt(values))[:, :most]
    axes[:, :most] = (summing.T @ vectors * kept / roots)[:, :most]
    points = points - points[0]
    lengths = np.sqrt(np.maximum(np.diagonal(gram), 0.0)).sum()
    seen = float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
    return Placed(
        points,
        axes,
        float(values[:dims].sum()) / total if total > 0 else 1.0,
        min(seen / float(lengths), 1.0) if lengths > 0 else 1.0,
    )


def lay_out(
    lengths: Float[np.ndarray, " steps"], angles: Float[np.ndarray, " steps"]
) -> Float[np.ndarray, "steps+1 2"]:
    """Lay steps of these lengths in a plane, turning by these angles (degrees), left then right.

    The first angle is not used; where an angle is not defined the path goes straight on.
    """
    heading, side = 0.0, 1.0
    points = np.zeros((len(lengths) + 1, 2))
    for k, length in enumerate(lengths):
        if k > 0 and np.isfinite(angles[k]):
            heading += side * np.radians(float(angles[k]))
            side = -side
        points[k + 1] = points[k] + float(length) * np.array([np.cos(heading), np.sin(heading)])
    return points


def mix(
    a: Float[np.ndarray, "*shape"], b: Float[np.ndarray, "*shape"], share: float
) -> Float[np.ndarray, "*shape"]:
    """(1 - share) a + share b; of two Gram matrices it is one again.

    At either end it is that end, also beside what is not known.
    """
    if share <= 0.0:
        return a
    if share >= 1.0:
        return b
    return (1.0 - share) * a + share * b


def upright(points: Float[np.ndarray, "states 2"]) -> Float[np.ndarray, "2 2"]:
    """The rotation or reflection about x_0 after which x_n lies to the right and the path above."""
    end = points[-1]
    norm = float(np.hypot(*end))
    c, s = (end / norm) if norm > 0 else (1.0, 0.0)
    rotation = np.array([[c, -s], [s, c]])
    below = float((points @ rotation)[:, 1].sum()) < 0
    return rotation * np.array([1.0, -1.0 if below else 1.0])


def alignment(
    points: Float[np.ndarray, "states 2"], to: Float[np.ndarray, "states 2"]
) -> Float[np.ndarray, "2 2"]:
    """The rotation or reflection about x_0 that brings `points` nearest to `to` (Procrustes).

    Source: Schönemann 1966, Psychometrika 31.
    """
    return orthogonal_procrustes(points, to)[0]
