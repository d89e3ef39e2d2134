"""Operations of a model, counted from its shape."""

from velocity_ledger.integrators import Integrator
from velocity_ledger.model._config import ModelConfig


def flops_per_token(config: ModelConfig, integrator: Integrator) -> int:
    """Return the operations of the forward pass for one token at full context.

    A multiply-add counts as two; norms, activations and the integrator itself are left out.
    """
    c = config
    values = c.width * c.key_heads * c.head_size
    cost = {"attention": 2 * c.width**2 + 2 * values + 2 * c.context * c.width}
    mlp = (3 if c.activation == "swiglu" else 2) * c.width * c.hidden
    # A sub-update evaluates its own fields; where one field serves two, it is paid twice.
    layer = sum(cost.get(kind, mlp) for kind in integrator.splitting.evaluated)
    once = c.width * c.vocabulary + (values if c.value_residual else 0)
    return 2 * (c.layers * integrator.evaluations * layer + once)
