"""The matrix products of our training step, each timed alone: the floor under it.

A step multiplies, for N = batch * context tokens, in every layer [N, D] by the four matrices of
attention, [N, D] by [D, FF], [N, FF] by [FF, D], and per head queries by keys and weights by
values; and [N, D] by the head. Each product has two more in the gradient, with the same number of
operations. Norms, softmax, dropout, the optimizer and all memory traffic between products are left
out.

Queries are taken in halves, as ours does, of which the first never meets the second half of the
keys: a quarter of attention's operations less than of all pairs. A program that multiplies all
pairs has more to do than the floor; one that left out every masked pair would have less.
"""

import dataclasses as dc
import statistics
import time
from collections import Counter
from typing import Any

import numpy as np

from benchmarks.shape import Shape

PARTS, LEAST = 2, 32
"""Parts of the queries, and the shortest context that has them; those of `model`'s attention."""


@dc.dataclass(frozen=True)
class Product:
    """[stack, rows, inner] by [stack, inner, columns]; `stack` 0 is a single product."""

    rows: int
    inner: int
    columns: int
    stack: int = 0

    @property
    def flops(self) -> int:
        """Operations; a multiply-add counts as two."""
        return 2 * max(self.stack, 1) * self.rows * self.inner * self.columns

    def __str__(self) -> str:
        stack = f"{self.stack} x " if self.stack else ""
        return f"{stack}{self.rows} x {self.inner} x {self.columns}"


def parts_of(context: int) -> int:
    """Parts that the queries of so long a context are taken in."""
    return PARTS if context >= LEAST and context % PARTS == 0 else 1


def of_a_step(shape: Shape, parts: int | None = None) -> Counter[Product]:
    """The products of one training step, and how often each is done; `parts` 1 is all pairs."""
    n, d, hidden = shape.tokens, shape.width, shape.hidden
    layers, size, heads = shape.layers, shape.width // shape.heads, shape.batch * shape.heads
    found: Counter[Product] = Counter()
    parts = parts or parts_of(shape.context)
    queries = shape.context // parts
    attention = [
        (layers, product)
        for keys in range(queries, shape.context + 1, queries)
        for product in (
            Product(queries, size, keys, heads),
            Product(queries, keys, size, heads),
        )
    ]
    for count, product in (
        (4 * layers, Product(n, d, d)),
        (layers, Product(n, d, hidden)),
        (layers, Product(n, hidden, d)),
        *attention,
        (1, Product(n, d, shape.vocabulary)),
    ):
        rows, inner, columns, stack = dc.astuple(product)
        found[product] += count
        # c = a b: the gradient to a is that to c times b', the gradient to b is a' times it.
        found[Product(rows, columns, inner, stack)] += count
        found[Product(inner, rows, columns, stack)] += count
    return found


def flops(shape: Shape, parts: int | None = None) -> int:
    """Operations of the products of one training step."""
    return sum(product.flops * count for product, count in of_a_step(shape, parts).items())


def left_out(shape: Shape) -> float:
    """The share of all operations, attention over all pairs, that the floor does without."""
    return 1 - flops(shape) / flops(shape, parts=1)


class Products:
    """One run times each product `repeats` times, and returns what those of a step would take."""

    chunk = 1
    repeats = 5

    def __init__(self, shape: Shape) -> None:
        self.shape, self.products = shape, of_a_step(shape)
        self.times: dict[Product, list[float]] = {product: [] for product in self.products}
        self._factors: dict[Product, tuple[Any, Any]] = {}

    def array(self, values: np.ndarray) -> Any:
        """Those values in the library's form and precision."""
        raise NotImplementedError

    def product(self, a: Any, b: Any) -> None:
        """Do one product and wait for it."""
        raise NotImplementedError

    def run(self) -> float:
        """Seconds of a step that does each product as fast as alone, and nothing else."""
        if not self._factors:
            self._factors = {product: self._drawn(product) for product in self.products}
        total = 0.0
        for product, count in self.products.items():
            a, b = self._factors[product]
            self.product(a, b)
            taken = []
            for _ in range(self.repeats):
                begin = time.perf_counter()
                self.product(a, b)
                taken.append(time.perf_counter() - begin)
            self.times[product].append(statistics.median(taken))
            total += count * self.times[product][-1]
        return total

    def _drawn(self, product: Product) -> tuple[Any, Any]:
        draw = np.random.default_rng(0)
        stack = (product.stack,) if product.stack else ()
        shapes = (product.rows, product.inner), (product.inner, product.columns)
        a, b = (draw.standard_normal((*stack, *two), np.float32) for two in shapes)
        return self.array(a), self.array(b)

    def facts(self) -> dict[str, Any]:
        """Operations of a step, and GFLOP/s of each product."""
        rates = {
            str(product): product.flops / statistics.median(times) / 1e9
            for product, times in self.times.items()
        }
        return {
            "tokens": self.shape.tokens,
            "flops_a_step": flops(self.shape),
            "gflops": {name: round(rate, 1) for name, rate in rates.items()},
        }
