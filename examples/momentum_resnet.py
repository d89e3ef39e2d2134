"""A residual network of width two on rings, moons and spirals, with and without a velocity.

    x_{k+1} = x_k + h v_{k+1},  v_{k+1} = mu v_k + (1 - mu) f_k(x_k),  f_k = 2 -> 16 -> 2 with tanh

With mu = 0 this is the plain residual block. Blocks are not tied, the time T = layers * h is 8 at
every depth, and training is full-batch Adam at 3e-3 on the cross-entropy of a linear read-out. The
momentum ResNet is due to Sander et al. 2021 (arXiv 2102.07870). Nothing here knows of Transformers:
an integrator moves any list of callables.

    python examples/momentum_resnet.py --figure flow.png
    python examples/momentum_resnet.py --tasks rings --mu 0 .3 .6 .9 --steps 4000

The table has, per task and mu, the mean over seeds of the accuracy on test points and of their
paths, beside the null model: the same update over increments of the measured lengths that are as
unrelated as two dimensions allow.
"""

import argparse
import functools
import json
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax

# By name, so that all is imported before the first compilation: JAX compiles anew after an import
# that adds to its configuration, as Flax does.
from velocity_ledger import (
    PathStatistics,
    States,
    integrate,
    ledger,
    null_path,
    path_dataset,
    summarise,
)

TIME, HIDDEN, RATE = 8.0, 16, 3e-3
TRAIN, TEST = 1024, 2048


def rings(rng, label):
    """Two concentric rings, radii 0.5 and 1."""
    angle = rng.uniform(0, 2 * np.pi, len(label))
    radius = np.where(label == 0, 0.5, 1.0)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], -1), 0.05


def moons(rng, label):
    """Two half circles that reach into each other."""
    angle = rng.uniform(0, np.pi, len(label))
    upper = np.stack([np.cos(angle), np.sin(angle)], -1)
    return np.where(label[:, None] == 0, upper, [1.0, 0.5] - upper) - [0.5, 0.25], 0.1


def spirals(rng, label):
    """Two arms of a spiral, one and a half turns each."""
    along = np.sqrt(rng.uniform(0.02, 1, len(label)))
    angle = 3 * np.pi * along + np.pi * label
    return np.stack([along * np.cos(angle), along * np.sin(angle)], -1), 0.02


TASKS = {"rings": rings, "moons": moons, "spirals": spirals}


def points(task, count, seed):
    """Points [count, 2], as many of either class, and their labels."""
    rng = np.random.default_rng(seed)
    label = np.arange(count) % 2
    where, noise = TASKS[task](rng, label)
    where = where + noise * rng.standard_normal(where.shape)
    return jnp.asarray(where, jnp.float32), jnp.asarray(label, jnp.int32)


def initial(key, layers):
    """Weights of all blocks, stacked, and of the read-out; variance 1 / fan-in, no bias."""
    inner, outer, head = jax.random.split(key, 3)
    return {
        "inner": jax.random.normal(inner, (layers, 2, HIDDEN)) / 2**0.5,
        "shift": jnp.zeros((layers, HIDDEN)),
        "outer": jax.random.normal(outer, (layers, HIDDEN, 2)) / HIDDEN**0.5,
        "offset": jnp.zeros((layers, 2)),
        "head": jax.random.normal(head, (2, 2)) / 2**0.5,
        "bias": jnp.zeros(2),
    }


def network(weights, x, integrator, record=None):
    """Logits of the two classes, and what `record` keeps of the path through depth."""

    def block(k):
        def f(x):
            hidden = jnp.tanh(x @ weights["inner"][k] + weights["shift"][k])
            return hidden @ weights["outer"][k] + weights["offset"][k]

        return f

    blocks = [block(k) for k in range(len(weights["inner"]))]
    x, path = integrate(blocks, x, integrator, record=record)
    return x @ weights["head"] + weights["bias"], path


# mu and h are data, not program: one compilation serves every mu, 0 included.
@functools.partial(jax.jit, static_argnames=("layers", "steps"))
def fit(integrator, seeds, x, label, *, layers, steps):
    """Train one network a seed, all at once; return their weights and last losses."""
    optimizer = optax.adam(RATE)

    def one(seed):
        def loss(weights):
            logits, _ = network(weights, x, integrator)
            return optax.softmax_cross_entropy_with_integer_labels(logits, label).mean()

        def step(carry, _):
            weights, state = carry
            value, gradient = jax.value_and_grad(loss)(weights)
            update, state = optimizer.update(gradient, state, weights)
            return (optax.apply_updates(weights, update), state), value

        weights = initial(jax.random.key(seed), layers)
        (weights, _), losses = jax.lax.scan(step, (weights, optimizer.init(weights)), length=steps)
        return weights, losses[-1]

    return jax.vmap(one)(seeds)


@jax.jit
def look(integrator, weights, x):
    """Logits and paths of the points `x` through the network of every seed."""
    return jax.vmap(lambda own: network(own, x, integrator, PathStatistics()))(weights)


def measured(integrator, weights, x, label):
    """Per seed: accuracy in percent, mean turning angle in degrees, mean path, and their nulls."""
    logits, paths = jax.device_get(look(integrator, weights, x))
    rows = []
    for seed, own in enumerate(logits):
        path = {name: values[seed] for name, values in paths.items()}
        found = summarise(path_dataset({0: path}, windows=1), 0)
        null = null_path(
            integrator,
            sub_updates=len(path["increment"]),
            increments=path["increment"].mean(-1),
            initial_norm=path["initial_norm"].mean(),
            width=2,
            frames=1024,
        )
        rows.append(
            {
                "accuracy": 100 * float(np.mean(own.argmax(-1) == np.asarray(label))),
                "turning_angle": found["turning_angle"],
                "null_turning_angle": null["turning_angle"],
                "path_length": found["path_length"],
                "null_path_length": null["path_length"],
            }
        )
    return {name: [row[name] for row in rows] for name in rows[0]}


HEADER = (
    f"{'task':<8} {'mu':>4}  {'test accuracy % (min-max)':<27}{'turning angle':>14} {'null':>6}"
    f" {'path':>7} {'null':>6} {'s':>6}"
)


def line(task, mu, found, seconds):
    """One line of the table, means over seeds."""
    mean = {name: float(np.mean(values)) for name, values in found.items()}
    low, high = min(found["accuracy"]), max(found["accuracy"])
    accuracy = f"{mean['accuracy']:.2f} ({low:.2f}-{high:.2f})"
    return (
        f"{task:<8} {mu:>4g}  {accuracy:<27}{mean['turning_angle']:>14.1f}"
        f" {mean['null_turning_angle']:>6.1f} {mean['path_length']:>7.2f}"
        f" {mean['null_path_length']:>6.2f} {seconds:>6.1f}"
    )


def draw(file, task, trained, x, label, shown=36):
    """Draw how test points flow through depth, one row a mu, as the first seed's network has it."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    colours = np.array(["#0072b2", "#d55e00"])[np.asarray(label)]
    layers = len(trained[0][2]["inner"][0])
    figure, rows = plt.subplots(
        len(trained), 4, figsize=(10, 2.7 * len(trained)), squeeze=False, layout="constrained"
    )
    for axes, (mu, integrator, weights) in zip(rows, trained, strict=True):
        own = jax.tree.map(lambda a: a[0], weights)
        _, kept = network(own, x, integrator, States())
        path = np.asarray(kept["x"])
        last = len(path) - 1
        for axis, k in zip(axes[:3], (0, last // 2, last), strict=True):
            axis.scatter(*path[k].T, s=2, c=colours, linewidths=0)
            axis.set_title(f"after {k} of {last} blocks" if k else "test points", fontsize=9)
        for one, colour in list(zip(path.swapaxes(0, 1), colours, strict=True))[:shown]:
            axes[3].plot(*one.T, color=colour, linewidth=0.8, alpha=0.8)
            axes[3].plot(*one[-1], "o", color=colour, markersize=2.5)
        axes[3].set_title(f"paths of {shown} points", fontsize=9)
        axes[0].set_ylabel("mu = 0, plain" if mu == 0 else f"mu = {mu:g}")
        for axis in axes:
            axis.set_aspect("equal", "datalim")
            axis.tick_params(labelsize=7)
    figure.suptitle(f"{task}: what {layers} blocks of width two do, T = {TIME:g}", fontsize=10)
    figure.savefig(file, dpi=120)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--mu", nargs="+", type=float, default=[0.0, 0.9])
    parser.add_argument("--steps", type=int, default=500, help="the published run has 4000")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--quick", action="store_true", help="rings, 8 layers, 200 steps, 1 seed")
    parser.add_argument("--figure", type=Path, help="draw the first task's test points")
    parser.add_argument("--json", type=Path, help="write every seed's numbers")
    given = parser.parse_args()
    if given.quick:
        given.tasks, given.layers, given.steps, given.seeds = ["rings"], 8, 200, 1

    print(
        f"{given.layers} blocks, h = {TIME / given.layers:g}, {given.steps} steps, "
        f"{given.seeds} seeds; angles in degrees\n\n{HEADER}"
    )
    results, trained = [], []
    for task in given.tasks:
        x, label = points(task, TRAIN, seed=0)
        test, test_label = points(task, TEST, seed=1)
        for mu in given.mu:
            start = time.perf_counter()
            integrator = ledger(mu=mu, h=TIME / given.layers)
            size = {"layers": given.layers, "steps": given.steps}
            weights, loss = fit(integrator, jnp.arange(given.seeds), x, label, **size)
            found = measured(integrator, weights, test, test_label)
            print(line(task, mu, found, time.perf_counter() - start), flush=True)
            results.append({"task": task, "mu": mu, "loss": loss.tolist(), **found})
            if task == given.tasks[0]:
                trained.append((mu, integrator, weights))
    if given.json:
        given.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    if given.figure:
        draw(given.figure, given.tasks[0], trained, *points(given.tasks[0], TEST, seed=1))
        print(f"\ndrawn: {given.figure}")


if __name__ == "__main__":
    main()
