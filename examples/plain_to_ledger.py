"""A trained plain model goes on as a ledger, slowly and at once, and back.

One plain model is trained for each seed, and its best weights go on for the same number of steps

    as plain                     the control: what more training alone brings
    as a ledger, slowly          mu rises over `--over` steps, evenly or as a cosine
    as a ledger, at once         mu is there at the first step
    undamped, slowly, at once    v = mu v + f keeps each block's own gain and lets the sum grow
    back                         the risen ledger goes on as plain, mu falling

under one schedule of the learning rate, on the same windows. The table has validation losses in
nats a character, means over seeds: before the first step, the worst of all (every `--val-every`
steps), when mu has arrived, and the best of the model that is wanted.
Of several seeds it ends with paired differences and their 95 % intervals.

    python examples/plain_to_ledger.py --out runs/plain-to-ledger --seeds 0 1 2

Bundles that are there already are taken as they are.
"""

import argparse
import dataclasses as dc
from pathlib import Path

import numpy as np

from velocity_ledger import PRESETS, TrainingConfig, open_bundle, paired_difference, run_experiment
from velocity_ledger.experiment import convert_cell

UNDAMPED = "ledger(mu={mu}, damped=False)"
CASES = {
    # name: (the case that it goes on from, to, whether slowly, shape)
    "plain": (None, "plain", False, "linear"),
    "ledger, slowly": (None, "ledger(mu={mu})", True, "linear"),
    "ledger, slowly, cosine": (None, "ledger(mu={mu})", True, "cosine"),
    "ledger, at once": (None, "ledger(mu={mu})", False, "linear"),
    "undamped, slowly": (None, UNDAMPED, True, "linear"),
    "undamped, at once": (None, UNDAMPED, False, "linear"),
    "back to plain, slowly": ("ledger, slowly", "plain", True, "linear"),
    "back to plain, at once": ("ledger, slowly", "plain", False, "linear"),
}


def main() -> None:
    """Train, convert and print the table."""
    options = _options()
    training = dc.replace(
        PRESETS["smoke"].training,
        steps=options.steps,
        batch=16,
        peak_rate=options.rate,
        final_rate=options.rate / 10,
        warmup=options.steps // 20,
        val_every=options.val_every,
        val_batches=8,
        checkpoint_every=options.steps,
        telemetry_at=(),
    )
    seeds = tuple(options.seeds)
    model = dc.replace(PRESETS["smoke"].model, layers=options.layers, dropout=0.0)
    source = options.out / "source"
    if not source.exists():
        config = dc.replace(
            PRESETS["smoke"],
            model=model,
            training=training,
            variants=("plain",),
            seeds=seeds,
            corpus=options.corpus,
            sample=0,
        )
        run_experiment(config, source)
    more = dc.replace(
        training,
        steps=options.more,
        warmup=options.more // 20,
        peak_rate=options.more_rate or options.rate,
        final_rate=(options.more_rate or options.rate) / 10,
    )
    rows = {name: [_case(name, seed, more, options) for seed in seeds] for name in CASES}
    bundle = open_bundle(source)
    losses = [cell.best_val for cell in bundle.cells if cell.best_val is not None]
    text, named = bundle.manifest["corpus"]["name"], " ".join(map(str, seeds))
    print(f"text: {text}; seeds {named}; mu {options.mu:g}")
    print(f"plain, trained for {options.steps:,} steps: {np.mean(losses):.3f}\n")
    print(f"| {options.more:,} more steps | before | worst | on arrival | best |")
    print("| --- | --- | --- | --- | --- |")
    for name, found in rows.items():
        print(f"| {name} | " + " | ".join(f"{value:.3f}" for value in np.mean(found, 0)) + " |")
    if len(seeds) > 1:
        print("\nBest of a switch minus that of the slow, linear way, over seeds:\n")
        for name in rows:
            slow = name.replace("at once", "slowly")
            if slow != name:
                best = {k: [row[-1] for row in rows[k]] for k in (name, slow)}
                gap = paired_difference(best[name], best[slow])
                print(f"- {name}: {gap.mean:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}]")


def _case(
    name: str, seed: int, training: TrainingConfig, options: argparse.Namespace
) -> list[float]:
    """Losses before, at the worst, on arrival and at the best of one conversion."""
    begin, to, slowly, shape = CASES[name]
    out, over = _folder(options, name, seed), options.over if slowly else 0
    if not out.exists():
        source, start = options.out / "source", f"plain/{seed}"
        if begin is not None:
            source = _folder(options, begin, seed)
            start = open_bundle(source).cells[0].name
        convert_cell(
            source, start, to.format(mu=options.mu), out,
            training=training, over=over, shape=shape, sample=0,
        )  # fmt: skip
    bundle = open_bundle(out)
    (cell,) = bundle.cells
    data = bundle.datasets[cell.variant, cell.seed]
    steps, losses = data["validation"].values, data["val_loss"].values
    assert cell.best_val is not None
    return [losses[0], losses.max(), losses[steps >= over][0], cell.best_val]


def _folder(options: argparse.Namespace, name: str, seed: int) -> Path:
    return options.out / f"{name.replace(', ', '-').replace(' ', '-')}-{seed}"


def _options() -> argparse.Namespace:
    words = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    words.add_argument("--out", type=Path, default=Path("runs/plain-to-ledger"))
    words.add_argument("--corpus", default="shakespeare", help="as the command line's")
    words.add_argument("--seeds", type=int, nargs="+", default=[0])
    words.add_argument("--mu", type=float, default=0.9)
    words.add_argument("--layers", type=int, default=4)
    words.add_argument("--steps", type=int, default=1500, help="of the plain model")
    words.add_argument("--more", type=int, default=600, help="steps after that")
    words.add_argument("--over", type=int, default=300, help="steps of the rise")
    words.add_argument("--rate", type=float, default=3e-3, help="peak learning rate")
    words.add_argument("--more-rate", type=float, help="that of the steps after, if another")
    words.add_argument("--val-every", type=int, default=50)
    return words.parse_args()


if __name__ == "__main__":
    main()
