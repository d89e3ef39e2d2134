"""Each variant's learning rate, by short trials on seeds that the run does not use."""

import dataclasses as dc
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from velocity_ledger.experiment import _json
from velocity_ledger.experiment._config import ExperimentConfig
from velocity_ledger.experiment._files import saved, write_aside
from velocity_ledger.experiment._trials import NAME, Trial, read_trials
from velocity_ledger.experiment._variants import Variant
from velocity_ledger.model import GPT
from velocity_ledger.training import Data, Progress, TrainingConfig, swept_optimizer, train

_RATE = "training.peak_rate"


def in_small(training: TrainingConfig, steps: int) -> TrainingConfig:
    """Return the schedule of a trial: all of it in `steps`, validated at its end."""
    return dc.replace(
        training,
        steps=steps,
        warmup=round(training.warmup * steps / training.steps),
        val_every=steps,
        checkpoint_every=steps,
        telemetry_at=(),
        patience=None,
    )


def is_swept(variant: Variant, config: ExperimentConfig) -> bool:
    """Whether the sweep is to find a variant's rate: not where it sets its own."""
    return bool(config.sweep.rates) and _RATE not in variant.own


def run_sweep(
    bundle: pathlib.Path,
    config: ExperimentConfig,
    variants: Sequence[Variant],
    data: Data,
    own_config: Callable[[Variant], ExperimentConfig],
    progress: Callable[[str], Progress],
    should_stop: Callable[[], int | None],
) -> int | None:
    """Run the trials that are missing; return the signal that interrupted them, if one did."""
    wanted = [
        (variant, rate, seed)
        for variant in variants
        if is_swept(variant, config)
        for rate in config.sweep.rates
        for seed in config.sweep.seeds
    ]
    trials = read_trials(bundle)
    there = {(t.variant, t.rate, t.seed) for t in trials}
    todo = [w for w in wanted if (w[0].text, w[1], w[2]) not in there]
    for k, (variant, rate, seed) in enumerate(todo):
        signal = should_stop()
        if signal is not None:
            return signal
        own = own_config(variant)
        training = in_small(own.training, config.sweep.steps)
        model = GPT(own.model, variant.integrator, rngs=seed)
        run = train(
            model,
            data,
            training,
            seed=seed,
            optimizer=swept_optimizer(training, rate, model.undecayed),
            progress=progress(f"trial {k + 1}/{len(todo)}: {variant.text} at {rate:g}"),
            should_stop=should_stop,
        )
        if run.reason == "interrupted":
            return run.signal
        val = float(run.history.val_loss[-1]) if run.reason == "finished" else None
        trials.append(Trial(variant.text, rate, seed, val))
        with saved(bundle):
            _write(bundle, config, trials)
    return None


def _write(bundle: pathlib.Path, config: ExperimentConfig, trials: Sequence[Trial]) -> None:
    sweep = config.sweep
    record: Mapping[str, Any] = {
        "budget": {
            "rates": list(sweep.rates),
            "seeds": list(sweep.seeds),
            "steps": sweep.steps,
            "trials_a_variant": len(sweep.rates) * len(sweep.seeds),
            "tokens_a_variant": len(sweep.rates) * len(sweep.seeds) * sweep.steps
            * config.training.batch * config.model.context,
        },
        "chosen_by": "lowest mean validation (nats a token) at the end of the trials",
        "trials": [dc.asdict(trial) for trial in trials],
    }  # fmt: skip
    text = _json.dumps(record) + "\n"
    write_aside(bundle / NAME, lambda aside: aside.write_text(text, encoding="utf-8"))
