"""Our training step, as `train` prepares and calls it. All that knows of its inside is here."""

import dataclasses as dc
from typing import Any

import numpy as np

from benchmarks import shape as sizes, text
from benchmarks.shape import Shape

PRECISION = "precision"


def precisions() -> tuple[str, ...]:
    """The precisions that can be asked for; read without JAX."""
    return ("fp32",) if _owner() is None else ("fp32", "bf16")


def _owner() -> str | None:
    """The configuration that has the setting, if there is one."""
    from velocity_ledger.model._config import ModelConfig
    from velocity_ledger.training._config import TrainingConfig

    owners = {"model": ModelConfig, "training": TrainingConfig}
    has = [n for n, c in owners.items() if PRECISION in {f.name for f in dc.fields(c)}]
    return has[0] if has else None


def configured(shape: Shape, precision: str = "fp32", scan: bool = False) -> tuple[Any, Any]:
    """The configurations of the model and of the run."""
    from velocity_ledger import ModelConfig, TrainingConfig

    own = {f.name: getattr(shape, f.name) for f in dc.fields(shape) if f.name != "batch"}
    found = {
        "model": ModelConfig(**own, scan=scan),
        "training": TrainingConfig(
            steps=sizes.STEPS,
            batch=shape.batch,
            peak_rate=sizes.PEAK,
            final_rate=sizes.FINAL,
            warmup=sizes.WARMUP,
            weight_decay=sizes.DECAY,
            clip=sizes.CLIP,
        ),
    }
    owner = _owner()
    if owner is not None:
        setting: dict[str, Any] = {PRECISION: precision}
        found[owner] = dc.replace(found[owner], **setting)
    return found["model"], found["training"]


class Training:
    """A step of one variant; windows are drawn on the host."""

    chunk = 1

    def __init__(
        self,
        shape: dict[str, Any],
        variant: str = "plain",
        precision: str = "fp32",
        scan: bool = False,
    ) -> None:
        from flax import nnx

        import velocity_ledger as vl
        from velocity_ledger.training import optimizer
        from velocity_ledger.training._step import dropout_root, placed, strong, training_step

        self.shape = Shape(**shape)
        self.model_config, self.config = configured(self.shape, precision, scan)
        self.model = vl.GPT(self.model_config, vl.parse(variant), rngs=0)
        rule = optimizer(self.config, self.model.undecayed)
        graphdef, params, self.rest = nnx.split(self.model, nnx.Param, ...)
        self.params = placed(strong(nnx.to_pure_dict(params)))
        self.state = placed(strong(rule.init(self.params)))
        self.step = training_step(graphdef, rule)
        self.root = dropout_root(0)
        self.ids = text.ids(self.shape)
        self.done = 0
        self.loss: Any = float("nan")

    def run(self) -> None:
        import jax

        from velocity_ledger import windows

        tokens = windows(
            self.ids, batch=self.shape.batch, context=self.shape.context, seed=0, step=self.done
        )
        self.params, self.state, self.loss = self.step(
            self.params, self.state, self.rest, tokens, self.root, np.uint32(self.done)
        )
        jax.block_until_ready((self.params, self.loss))
        self.done += self.chunk

    def facts(self) -> dict[str, Any]:
        import jax

        from velocity_ledger import count_parameters

        return {
            "parameters": count_parameters(self.model),
            "flops_per_token": self.model.flops_per_token(),
            "tokens": self.shape.tokens,
            "steps": self.done,
            "loss": float(self.loss),
            "device": jax.devices()[0].device_kind,
        }
