"""Our other programs: a forward pass, the default measurement, evaluation, sampling."""

import inspect
from typing import Any

import numpy as np

from benchmarks import text
from benchmarks.programs.ours import configured
from benchmarks.shape import Shape


class _OfAModel:
    """A program over a fresh model; `tokens` is what one run gets through."""

    chunk = 1
    tokens = 0

    def __init__(self, shape: dict[str, Any], variant: str = "plain") -> None:
        import velocity_ledger as vl

        self.shape = Shape(**shape)
        model_config, self.config = configured(self.shape)
        self.model = vl.GPT(model_config, vl.parse(variant), rngs=0)
        self.ids = text.ids(self.shape)

    def run(self) -> None:
        raise NotImplementedError

    def facts(self) -> dict[str, Any]:
        return {"tokens": self.tokens}


class Forward(_OfAModel):
    """The forward pass of a batch, dropout off."""

    def __init__(self, shape: dict[str, Any], variant: str = "plain") -> None:
        import jax
        from flax import nnx

        super().__init__(shape, variant)
        graph, state = nnx.split(self.model)

        def logits(state: Any, tokens: Any) -> Any:
            model: Any = nnx.merge(graph, state)
            return model(tokens)

        drawn = text.windows(self.ids, self.shape, np.random.default_rng(0))[:, :-1]
        compiled = jax.jit(logits)
        self.tokens = self.shape.tokens
        self.call = lambda: compiled(state, drawn).block_until_ready()

    def run(self) -> None:
        self.call()


class Telemetry(_OfAModel):
    """One measurement of the depth path over `windows`, so many at once as by default."""

    def __init__(
        self,
        shape: dict[str, Any],
        variant: str = "plain",
        windows: int | None = None,
        at_once: int | None = None,
        preset: str = "paper",
    ) -> None:
        import velocity_ledger as vl
        from velocity_ledger.experiment import PRESETS

        super().__init__(shape, variant)
        schedule = PRESETS[preset].training
        probe = vl.windows(
            self.ids,
            batch=windows or schedule.probe_windows,
            context=self.shape.context,
            seed=schedule.probe_seed,
            step=0,
        )[:, :-1]
        self.tokens, self.windows = probe.size, len(probe)
        self.measured, self.of_steps = len(schedule.telemetry_steps), schedule.steps
        default = inspect.signature(vl.measure).parameters["windows_at_once"].default
        self.at_once = at_once or default
        self.call = lambda: vl.measure(self.model, probe, windows_at_once=self.at_once)

    def run(self) -> None:
        self.call()

    def facts(self) -> dict[str, Any]:
        return {
            "tokens": self.tokens,
            "windows": self.windows,
            "windows_at_once": self.at_once,
            "measurements": self.measured,
            "of_steps": self.of_steps,
        }


class Evaluation(_OfAModel):
    """The validation loss over the default batches."""

    def __init__(self, shape: dict[str, Any], variant: str = "plain") -> None:
        import velocity_ledger as vl

        super().__init__(shape, variant)
        self.batches = vl.validation_batches(self.ids, self.config, self.shape.context)
        self.tokens = self.batches.predictions

    def run(self) -> None:
        from velocity_ledger import evaluate

        evaluate(self.model, self.batches)


class Sampling(_OfAModel):
    """New tokens after one token, until the context is full; or, of a full one, past it.

    `length` is how many instead, in each of so many `rows`.
    """

    def __init__(
        self,
        shape: dict[str, Any],
        variant: str = "plain",
        past: str | None = None,
        rows: int = 1,
        length: int | None = None,
    ) -> None:
        super().__init__(shape, variant)
        context = self.shape.context
        prompt, most = (1, context - 1) if past is None else (context, context)
        self.length, self.past = length or most, past or "exact"
        self.tokens = rows * self.length
        self.prompt = np.stack([self.ids[row : row + prompt] for row in range(rows)])
        self.drawn: Any = ()

    def run(self) -> None:
        from velocity_ledger import generate

        self.drawn = generate(self.model, self.prompt, length=self.length, past=self.past)

    def facts(self) -> dict[str, Any]:
        return {**super().facts(), "drawn": " ".join(map(str, np.ravel(self.drawn)))}


class Anew(Sampling):
    """The same tokens inside the context, for each of which the whole window is encoded anew."""

    def __init__(
        self, shape: dict[str, Any], variant: str = "plain", rows: int = 1, length: Any = None
    ) -> None:
        import jax
        from flax import nnx

        super().__init__(shape, variant, None, rows, length)
        count, vocabulary = self.length, self.shape.vocabulary
        graph, state = nnx.split(self.model)
        window = np.zeros((rows, self.shape.context), np.int32)
        window[:, :1] = self.prompt

        def one(key: Any, logits: Any) -> Any:
            odds, ids = jax.lax.top_k(logits, vocabulary)
            return ids[jax.random.categorical(key, odds)]

        def filled(state: Any, window: Any) -> Any:
            model: Any = nnx.merge(graph, state)
            # As `generate` draws: by the seed, the row and the number of the new token.
            root = jax.random.key(0)
            own = [jax.random.fold_in(root, row) for row in range(rows)]

            def advance(place: Any, window: Any) -> Any:
                logits = model(window)[:, place]
                keys = [jax.random.fold_in(key, place) for key in own]
                drawn = jax.numpy.stack([one(*pair) for pair in zip(keys, logits, strict=True)])
                return window.at[:, place + 1].set(drawn)

            return jax.lax.fori_loop(0, count, advance, window)

        compiled = jax.jit(filled)
        self.call = lambda: np.asarray(compiled(state, window))[:, 1 : count + 1]

    def run(self) -> None:
        self.drawn = self.call()
