"""The model on some tokens of a window, of which the earlier ones are known by keys and values."""

import dataclasses as dc
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from velocity_ledger.integrators import Parameter
from velocity_ledger.machine import platform
from velocity_ledger.model._cached_attention import Asking, Past, Writing

if TYPE_CHECKING:
    from velocity_ledger.model._gpt import GPT

# To read several at once costs a CPU little more than to read one; elsewhere a pass costs the same
# whatever it reads.
_CHUNK = 16

Cache = tuple[Any, ...]
"""Keys and values by layer and evaluation; of a scanned model by evaluation, with all layers."""


@dc.dataclass(frozen=True)
class Extension:
    """Some tokens of a window: the place of the first, and what is known of those before it.

    `pasts` has one `Past` a layer; of a scanned model one, whose arrays carry the layers.
    """

    start: Any
    pasts: Sequence[Past]
    writing: Writing
    context: int

    def places(self, time: int) -> Int[Array, " time"]:
        """Return where the tokens stand; past the window, where none is read, its last place."""
        return jnp.minimum(self.start + jnp.arange(time), self.context - 1)

    def here(
        self, learned: Mapping[str, Any], declared: Mapping[str, Parameter], time: int
    ) -> dict[str, Any]:
        """Return what the model learned, with the tables of places as the tokens here need them."""
        found, places = dict(learned), self.places(time)
        for name in learned:
            for axis, size in enumerate(declared[name].shape):
                if size == "context":
                    found[name] = jnp.take(found[name], places, axis)
        return found


def chunk_of(model: "GPT") -> int:
    """Return how many tokens of a prompt are read at once."""
    context = model.config.context
    return min(_CHUNK, context) if platform() == "cpu" else context


def empty_cache(model: "GPT", batch: int) -> Cache | None:
    """Return room for the keys and values of a window; None where tokens cannot go one by one.

    They cannot where the integrator itself looks from token to token, where what it learns of
    places is no table of the model, and where it evaluates fields in a program of its own. There is
    room for whole chunks.
    """
    integrator, config = model.integrator, model.config
    if not integrator.tokens_apart or _bound_to_a_window(integrator.parameters(config.width)):
        return None
    asking = Asking(len(integrator.splitting.kinds))

    def ask() -> Any:
        extension = _extension(model, None, 0, asking)
        return model(jnp.zeros((batch, 1), jnp.int32), extension=extension)[1]

    _ = jax.eval_shape(ask)
    if asking.hidden:
        return None
    lead = (config.layers,) if config.scan else ()
    chunk = chunk_of(model)
    room = -(-config.context // chunk) * chunk

    def room_for(keys: Any, values: Any) -> Any:
        keys = jnp.zeros((*lead, *keys.shape[:-1], room), keys.dtype)
        values = jnp.zeros((*lead, *values.shape[:-2], room, values.shape[-1]), values.dtype)
        return keys, values

    cache = [tuple(room_for(*one) for one in layer) for layer in asking.asked]
    return cache[-1] if config.scan else tuple(cache)


def extend(
    model: "GPT", tokens: Int[Array, "batch time"], start: Any, cache: Cache
) -> tuple[Float[Array, "batch time vocabulary"], Cache]:
    """Return the logits of tokens from place `start` on, and the cache with them in it."""
    per_layer = len(model.integrator.splitting.kinds)
    writing = Writing(per_layer, cache if model.config.scan else None)
    return model(tokens, extension=_extension(model, cache, start, writing))


def _extension(model: "GPT", cache: Cache | None, start: Any, writing: Writing) -> Extension:
    layers, place = model.config.layers, jnp.asarray(start, jnp.int32)
    if model.config.scan:
        pasts = [Past(cache or (), jnp.broadcast_to(place, (layers,)), writing)]
    else:
        pasts = [Past(kept, place, writing) for kept in cache or ((),) * layers]
    return Extension(place, pasts, writing, model.config.context)


def _bound_to_a_window(declared: Mapping[str, Parameter]) -> bool:
    """Whether the context is in the shape of anything but tables of places of the whole model."""
    for parameter in declared.values():
        known = parameter.sized(vocabulary=1, sub_updates=1)
        for size in known.shape:
            table = size == "context" and known.per == "model"
            if not isinstance(size, int) and not table:
                return True
    return False
