"""A character GPT whose residual stream is moved by any integrator."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax.core import Tracer
from jaxtyping import Array, Float, Int

from velocity_ledger.errors import UserError
from velocity_ledger.integrators import Integrator
from velocity_ledger.model import _weights
from velocity_ledger.model._block import Block, declared_by, learned, stacked, values
from velocity_ledger.model._cache import Extension
from velocity_ledger.model._config import ModelConfig
from velocity_ledger.model._dropout import dropout
from velocity_ledger.model._flops import flops_per_token
from velocity_ledger.model._keys import PathKeys, fold_in_name
from velocity_ledger.model._linear import linear
from velocity_ledger.model._norm import norm
from velocity_ledger.model._product import product
from velocity_ledger.model._scale import Scale
from velocity_ledger.model._unit_weights import unit_weights
from velocity_ledger.record import Recorder
from velocity_ledger.stream import run_layers


class Hyperparameter(nnx.Variable):
    """A number of the integrator: data of the model, so changing it compiles nothing anew."""


class GPT(nnx.Module):
    """Token and position embedding, layers of attention and MLP, norm, head.

    What they are made of is the configuration's; with its defaults positions are learned, norms
    LayerNorms, the head untied. The same blocks serve every integrator. Dropout is on exactly when
    a `key` is given: there is no training mode that could be left on.

        model = GPT(ModelConfig(), ledger(mu=0.9), rngs=0)
        logits = model(tokens)
        logits, path = model(tokens, record=PathStatistics())

    `rngs` is a seed or `nnx.Rngs`; every parameter draws its key from its path below it. With
    `config.scan` the layers are one stacked block, scanned over depth.
    Kernels are lecun-normal, biases 0, embeddings of std 1/sqrt(width), as in the published run.

    Raises `UserError` where the integrator has no use for a setting.
    """

    def __init__(
        self, config: ModelConfig, integrator: Integrator, *, rngs: nnx.Rngs | int
    ) -> None:
        key = rngs.params() if isinstance(rngs, nnx.Rngs) else jax.random.key(rngs)
        keys = PathKeys(key)
        if config.norm_scaling and not integrator.pre_norm:
            raise UserError(
                f"norm_scaling divides the norms before attention and MLP, and {integrator} has "
                "none: leave it out"
            )
        self.config = config
        leaves, self._structure = jax.tree.flatten(integrator)
        self._hyperparameters = nnx.List([Hyperparameter(leaf) for leaf in leaves])
        declared = declared_by(integrator, config)
        self.token = nnx.Embed(config.vocabulary, config.width, rngs=keys.at("token").rngs())
        self.position: Any = (
            nnx.Embed(config.context, config.width, rngs=keys.at("position").rngs())
            if config.positions == "learned"
            else None
        )
        below = keys.at("blocks")
        self.blocks: Any = (
            stacked(config, integrator, below)
            if config.scan
            else nnx.List(
                [Block(config, integrator, keys=below.at(i), index=i) for i in range(config.layers)]
            )
        )
        self.learned = learned(declared, "model", keys.at("integrator"))
        self.norm: Any = norm(config, keys.at("norm")) if config.final_norm else None
        self.head: Any = (
            None
            if config.tied
            else linear(config, config.width, config.vocabulary, keys.at("head"), bias=False)
        )
        self.logit_scale: Any = (
            Scale((config.vocabulary,), stored=config.width**-0.5) if config.logit_scale else None
        )
        if config.unit_weights:
            nnx.update(self, unit_weights(nnx.state(self, nnx.Param)))

    @property
    def integrator(self) -> Integrator:
        """The integrator that moves the stream."""
        leaves = [variable.get_value() for variable in self._hyperparameters]
        return jax.tree.unflatten(self._structure, leaves)

    def __call__(
        self,
        tokens: Int[Array | np.ndarray, "batch time"],
        *,
        key: Any = None,
        record: Recorder | None = None,
        extension: Extension | None = None,
    ) -> Any:
        """Return the logits [batch, time, vocabulary]; with `record`, also what it kept.

        `key` turns dropout on. With an `extension` the tokens are those of a window from a place
        on, and keys and values are returned beside the logits. Raises `UserError` for tokens of
        another shape, more of them than the context holds, and, where their values are known, ids
        outside the vocabulary.
        """
        _check(tokens, self.config)
        tokens = jnp.asarray(tokens)
        time = tokens.shape[1]
        x = self.token(tokens)
        if self.position is not None:
            places = jnp.arange(time) if extension is None else extension.places(time)
            x = x + self.position(places)
        if key is not None:
            x = dropout(x, self.config.dropout, fold_in_name(key, "embedding"))
        shared = values(self.learned)
        scan, depth = self.config.scan, self.config.layers
        integrator = self.integrator
        cut = integrator.splitting
        pasts: Sequence[Any] = [None] * depth
        if extension is not None:
            pasts, record = extension.pasts, extension.writing
            shared = extension.here(shared, integrator.parameters(self.config.width), time)

        def layers(first_values: Any = None) -> Any:
            if not scan:
                return [
                    block.sub_updates(cut, shared, first_values, past)
                    for block, past in zip(self.blocks, pasts, strict=True)
                ]
            repeated = _repeat((shared, first_values), depth)
            return self.blocks.sub_updates(cut, *repeated, pasts[0])

        def mixing(x: Any) -> Any:
            return layers(self._first_attention().values(x))

        x, recorded = run_layers(
            layers(),
            x,
            integrator,
            scan=scan,
            depth=depth,
            record=record,
            key=None if key is None else fold_in_name(key, "stream"),
            inputs=tokens,
            prepare=mixing if self.config.value_residual else None,
        )
        y = x if self.norm is None else self.norm(x)
        logits = self._tied(y) if self.head is None else self.head(y)
        if self.logit_scale is not None:
            logits = logits * self.logit_scale().astype(logits.dtype)
        return logits if record is None else (logits, recorded)

    def _tied(self, y: Any) -> Any:
        table, flat = self.token.embedding[...], y.reshape(-1, y.shape[-1])
        logits = product("ti,vi->tv", flat, table, self.config.precision)
        return logits.reshape(*y.shape[:-1], -1)

    def _first_attention(self) -> Any:
        if not self.config.scan:
            return self.blocks[0].attention
        graph, state = nnx.split(self.blocks.attention)
        return nnx.merge(graph, jax.tree.map(lambda leaf: leaf[0], state))

    def project(self, params: Any) -> Any:
        """Return the parameters as they must be after an optimizer step.

        With `unit_weights`, every matrix's vectors along the width at length 1; then whatever the
        integrator asks for. `params` is a nested dict or an `nnx.Param` state.
        """
        if self.config.unit_weights:
            params = unit_weights(params)
        own = self.integrator.project
        return params if own is None else own(params)

    @property
    def undecayed(self) -> frozenset[str]:
        """Paths of the parameters that weight decay leaves alone, as `learned.average`.

        These are what the integrator declares so.
        """
        declared = self.integrator.parameters(self.config.width)
        spared = {name for name, parameter in declared.items() if not parameter.decays}
        if not spared:
            return frozenset()
        paths = [path for path, _ in nnx.to_flat_state(nnx.state(self, nnx.Param))]
        own = [path for path in paths if {"integrator", "learned"} & set(path[:-1])]
        return frozenset(".".join(map(str, path)) for path in own if path[-1] in spared)

    def flops_per_token(self) -> int:
        """Return the operations of the forward pass for one token at full context.

        A multiply-add counts as two; norms, activations and the integrator itself are left out.
        """
        return flops_per_token(self.config, self.integrator)

    def integrator_parameters(self) -> dict[str, Float[Array, "n ..."]]:
        """Return what the integrator has learned, by name, in the form `integrate` takes.

        [n, *shape] over sub-updates for what is learned per layer or sub-update, [*shape] for what
        the model shares.
        """
        return _weights.integrator_parameters(self)

    def export_weights(self, params: Any = None) -> dict[str, np.ndarray]:
        """Return the weights by name, as `blocks.3.attention.query.kernel`.

        One layout for scanned and unrolled models; C-contiguous NumPy arrays. `params` is the
        `nnx.Param` state to read instead of the model's own.
        """
        return _weights.export_weights(self, params)

    def import_weights(self, weights: Mapping[str, np.ndarray]) -> None:
        """Set the weights from names as `export_weights` gives them.

        Raises `UserError` naming what is missing, left over or of another shape.
        """
        _weights.import_weights(self, weights)


def _check(tokens: Any, config: ModelConfig) -> None:
    if jnp.ndim(tokens) != 2 or 0 in tokens.shape:
        raise UserError(f"tokens are [batch, time], got shape {jnp.shape(tokens)}")
    if tokens.shape[1] > config.context:
        raise UserError(f"{tokens.shape[1]} tokens do not fit the context of {config.context}")
    # Out of range, an embedding gives NaN or another token's row; a traced id cannot be looked at.
    if not isinstance(tokens, Tracer):
        # NumPy's, which a trace around ids that are known leaves alone.
        ids = np.asarray(tokens)
        low, high = int(ids.min()), int(ids.max())
        if low < 0 or high >= config.vocabulary:
            raise UserError(
                f"token ids must lie in 0..{config.vocabulary - 1}, got {low} to {high}"
            )


def _repeat(shared: Any, layers: int) -> Any:
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (layers, *leaf.shape)), shared)
