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
    """Steps of one variant, as many a call as suit the device; it draws where windows begin."""

    def __init__(
        self,
        shape: dict[str, Any],
        variant: str = "plain",
        precision: str = "fp32",
        scan: bool = False,
        seed: int = 0,
    ) -> None:
        import jax
        from flax import nnx

        import velocity_ledger as vl
        from velocity_ledger.training import (
            LONGEST,
            Batching,
            dropout_root,
            microbatch,
            optimizer,
            training_steps,
        )
        from velocity_ledger.training._leaves import placed, strong

        self.shape = Shape(**shape)
        self.chunk = 1 if jax.default_backend() == "cpu" else LONGEST
        self.model_config, self.config = configured(self.shape, precision, scan)
        self.model = vl.GPT(self.model_config, vl.parse(variant), rngs=seed)
        self.rule = rule = optimizer(self.config, self.model.undecayed)
        self.graphdef, params, self.rest = nnx.split(self.model, nnx.Param, ...)
        self.params = placed(strong(nnx.to_pure_dict(params)))
        self.state = placed(strong(rule.init(self.params)))
        context, batch = self.shape.context, self.shape.batch
        at_a_time = microbatch(self.config.microbatch, batch, context)
        batching = Batching(context, batch, at_a_time)
        self.steps: Any = training_steps(self.graphdef, rule, batching)
        self.starts = np.zeros((LONGEST, batch), np.int32)
        self.seed, self.root = seed, dropout_root(seed)
        self.ids = jax.device_put(text.ids(self.shape))
        self.done = 0
        self.losses: Any = np.full(1, np.nan)

    def drawn(self) -> np.ndarray:
        """Where the windows of the next steps begin."""
        from velocity_ledger.corpus import window_starts_of

        self.starts[: self.chunk] = window_starts_of(
            len(self.ids),
            batch=self.shape.batch,
            context=self.shape.context,
            seed=self.seed,
            steps=range(self.done, self.done + self.chunk),
        )
        return self.starts.copy()

    def arguments(self) -> tuple[Any, ...]:
        """What the next call is given."""
        return (
            *(self.params, self.state, self.rest, self.ids, self.drawn(), self.root),
            *(np.uint32(self.done), np.int32(self.chunk)),
        )

    def run(self) -> None:
        import jax

        self.params, self.state, self.losses = self.steps(*self.arguments())
        jax.block_until_ready((self.params, self.losses))
        self.done += self.chunk

    def facts(self) -> dict[str, Any]:
        import jax

        from velocity_ledger import count_parameters

        return {
            "parameters": count_parameters(self.model),
            "flops_per_token": self.model.flops_per_token(),
            "tokens": self.shape.tokens,
            "steps": self.done,
            "loss": float(self.losses[min(self.done, self.chunk) - 1]),
            "device": jax.devices()[0].device_kind,
        }


class Host(Training):
    """All that the host does for a call of the most steps; the device is told to take none."""

    def __init__(self, shape: dict[str, Any], variant: str = "plain") -> None:
        from velocity_ledger.training import LONGEST

        super().__init__(shape, variant)
        self.chunk = LONGEST

    def run(self) -> None:
        import jax

        *given, _ = self.arguments()
        self.params, self.state, _ = self.steps(*given, np.int32(0))
        jax.block_until_ready(self.params)
        self.done += self.chunk

    def facts(self) -> dict[str, Any]:
        import jax

        return {"arrays": len(jax.tree.leaves((self.params, self.state)))}


class Seeds:
    """Steps of several seeds of one variant, stacked or one after the other.

    One step is one of every seed; on a CPU `chunk` of them are a call.
    """

    def __init__(
        self,
        shape: dict[str, Any],
        seeds: int,
        stacked: bool,
        chunk: int,
        variant: str = "plain",
        at_a_time: int | None = None,
    ) -> None:
        import jax

        from velocity_ledger.training import LONGEST, Batching, microbatch, training_steps

        self.stacked = stacked
        self.each = [Training(shape, variant, seed=seed) for seed in range(seeds)]
        self.chunk = chunk if jax.default_backend() == "cpu" else LONGEST
        for one in self.each:
            one.chunk = self.chunk
        first = self.each[0]
        context, batch = first.shape.context, first.shape.batch
        batching = Batching(context, batch, microbatch(at_a_time, batch, context * seeds))
        self.steps = training_steps(first.graphdef, first.rule, batching, stacked=True)

    def run(self) -> None:
        import jax

        if not self.stacked:
            for one in self.each:
                one.run()
            return
        first = self.each[0]
        found = self.steps(
            tuple(one.params for one in self.each),
            tuple(one.state for one in self.each),
            *(first.rest, first.ids, np.stack([one.drawn() for one in self.each])),
            *(tuple(one.root for one in self.each), np.uint32(first.done), np.int32(self.chunk)),
        )
        jax.block_until_ready(found)
        for one, params, state, losses in zip(self.each, *found, strict=True):
            one.params, one.state, one.losses = params, state, losses
            one.done += self.chunk

    def facts(self) -> dict[str, Any]:
        found = [one.facts() for one in self.each]
        losses = [facts["loss"] for facts in found]
        return found[0] | {"tokens": sum(facts["tokens"] for facts in found), "losses": losses}


class Compiling(Training):
    """The program of a step made anew in every run, from its trace to machine code; never run."""

    wakes = False
    """It takes seconds: what wakes up in it is lost in them."""

    def run(self) -> None:
        import jax

        jax.clear_caches()
        self.steps.lower(*self.arguments()).compile()

    def facts(self) -> dict[str, Any]:
        return {"layers": self.shape.layers}
