"""An integrator of your own, in one file: the ledger with a brake on its velocity.

velocity-ledger compare --preset smoke --variants plain "examples/mine.py:Braked(brake=.2)"
"""

import jax.numpy as jnp

from velocity_ledger import Info, Integrator


class Braked(Integrator):
    """v = mu v + (1 - mu) f(norm x) - brake v;  x += v"""

    mu: float = 0.9
    brake: float = 0.1

    def init(self, x0, ctx):
        return x0, jnp.zeros_like(x0)

    def step(self, field, stream, state, ctx):
        f = field(stream)
        v = self.mu * state + (1 - self.mu) * f - self.brake * state
        return stream + v, v, Info(increment=f, raw_step=v, step=v, velocity=v)
