"""What a comparison can bear: whether rates were swept, sizes matched, seeds enough."""

from collections.abc import Sequence

from velocity_ledger.errors import UserError
from velocity_ledger.experiment._bundle import Bundle
from velocity_ledger.experiment._config import MATCH_TOLERANCE as TOLERANCE, ExperimentConfig
from velocity_ledger.experiment._trials import Trial, at_edge, read_trials

_MATCHED = {
    "params": ("parameters", "parameters"),
    "flops": ("FLOPs a token", "flops_per_token_forward"),
}
"""Of what is matched, its words and its name in a manifest."""


def no_ranking(bundle: Bundle, seeds: Sequence[int]) -> str | None:
    """Return why the variants are not to be ranked, a sentence; None where nothing forbids it.

    `seeds` are how many each difference is over.
    """
    if len(bundle.variants) < 2:
        return None
    few = not seeds or min(seeds) < 2
    if bundle.config is None:
        if few:
            return "One seed: this ranks nothing."
        return (
            "How the learning rates were found is unknown here: a difference may be the rate's, so "
            "this ranks nothing."
        )
    one_rate = not bundle.config.sweep.rates
    if few and one_rate:
        return "One seed and one learning rate for all: this ranks nothing."
    if few:
        return "One seed: this ranks nothing."
    if one_rate:
        return (
            "One learning rate for all: a difference may be the rate's, so this ranks nothing; "
            "--sweep.rates finds each variant's own."
        )
    return None


def fairness_notes(bundle: Bundle) -> list[str]:
    """Return how the rates were found and the sizes matched, a sentence each."""
    config = bundle.config
    if config is None or len(bundle.variants) < 2:
        return []
    found = _rates(bundle, config) if config.sweep.rates else []
    return found + _sizes(bundle, config)


def _rates(bundle: Bundle, config: ExperimentConfig) -> list[str]:
    sweep = config.sweep
    try:
        trials = read_trials(bundle.path)
    except UserError as error:
        return [f"{error}."]
    names = [v["text"] for v in bundle.variants if any(t.variant == v["text"] for t in trials)]
    count = len(sweep.rates) * len(sweep.seeds)
    tokens = count * sweep.steps * config.training.batch * config.model.context
    found = [
        f"Learning rates: each variant's own, the best of {_listed(sweep.rates)} after {count} "
        f"trials of {sweep.steps:,} steps ({tokens:,} tokens a variant), on "
        f"{_counted(len(sweep.seeds), 'seed')} apart from the run's."
    ]
    edge = [name for name in names if at_edge(trials, name)]
    if edge:
        where = "every variant" if len(edge) == len(names) > 1 else ", ".join(edge)
        found.append(
            f"The best rate is at the edge of the sweep for {where}: a better one may lie beyond."
        )
    own = [v["text"] for v in bundle.variants if v["text"] not in names and v.get("peak_rate")]
    if own:
        found.append(f"Not swept: {', '.join(own)}.")
    lost = _lost(trials)
    return [*found, lost] if lost else found


def _lost(trials: Sequence[Trial]) -> str:
    diverged = [f"{t.variant} at {t.rate:g}" for t in trials if t.val is None]
    return f"Diverged in the sweep: {', '.join(diverged)}." if diverged else ""


def _sizes(bundle: Bundle, config: ExperimentConfig) -> list[str]:
    first, *others = bundle.variants
    what, size = _MATCHED.get(config.match, ("", ""))
    if not what:
        sizes = [v["parameters"] for v in bundle.variants if v.get("parameters") is not None]
        if sizes and max(abs(n - sizes[0]) for n in sizes) > TOLERANCE * sizes[0]:
            return [
                "The variants do not have the same number of parameters: --match params also "
                "trains the first one in the sizes of the others."
            ]
        return []
    matched = [(v["text"], m) for v in others if (m := v.get("match"))]
    own = first.get(size)
    found = [
        f"{m['text']} is {first['text']} made {_made(config, own, m['size'])} to match {name}: "
        f"{m['size']:,} {what} against {m['wanted']:,} "
        f"({100 * (m['size'] / m['wanted'] - 1):+.1f} %)."
        for name, m in matched
    ]
    near = [
        v["text"]
        for v in others
        if not v.get("match") and own and abs((v.get(size) or 0) - own) <= TOLERANCE * own
    ]
    if near:
        most = f"{100 * TOLERANCE:g} %"
        found.append(f"Within {most} of the first one's {what} as they are: {', '.join(near)}.")
    if config.match == "flops":
        found.append(
            "FLOPs are those of attention, MLPs and head: what an integrator itself computes is "
            "not among them."
        )
    return found


def _made(config: ExperimentConfig, own: int | None, size: int) -> str:
    more, less = {"width": ("wider", "narrower"), "depth": ("deeper", "shallower")}[config.match_by]
    return less if own and size < own else more


def _listed(rates: Sequence[float]) -> str:
    words = [f"{rate:g}" for rate in rates]
    return f"{', '.join(words[:-1])} and {words[-1]}"


def _counted(n: int, noun: str) -> str:
    return f"{n} {noun}{'s' * (n != 1)}"
