"""The matrix products of a training step, each timed alone: the floor under every program.

A step multiplies, for N = batch * context tokens, in every layer [N, D] by the four matrices of
attention, [N, D] by [D, FF], [N, FF] by [FF, D], and per head queries by keys and weights by
values; and [N, D] by the head. Each product has two more in the gradient, with the same number of
operations. Norms, softmax, dropout, the optimizer and all memory traffic between products are left
out, so no program can reach the floor.
"""

import dataclasses as dc
import statistics
import time
from collections import Counter
from typing import Any

import numpy as np

from benchmarks.shape import Shape


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


def of_a_step(shape: Shape) -> Counter[Product]:
    """The products of one training step, and how often each is done."""
    n, d, hidden = shape.tokens, shape.width, shape.hidden
    layers, size, heads = shape.layers, shape.width // shape.heads, shape.batch * shape.heads
    found: Counter[Product] = Counter()
    for count, product in (
        (4 * layers, Product(n, d, d)),
        (layers, Product(n, d, hidden)),
        (layers, Product(n, hidden, d)),
        (layers, Product(shape.context, size, shape.context, heads)),
        (layers, Product(shape.context, shape.context, size, heads)),
        (1, Product(n, d, shape.vocabulary)),
    ):
        rows, inner, columns, stack = dc.astuple(product)
        found[product] += count
        # c = a b: the gradient to a is that to c times b', the gradient to b is a' times it.
        found[Product(rows, columns, inner, stack)] += count
        found[Product(inner, rows, columns, stack)] += count
    return found


def flops(shape: Shape) -> int:
    """Operations of the products of one training step."""
    return sum(product.flops * count for product, count in of_a_step(shape).items())


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
