"""What an integrator of the residual stream is."""

import dataclasses as dc
import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from velocity_ledger.errors import UserError
from velocity_ledger.integrators._reductions import Reduction
from velocity_ledger.integrators._value import Scalar, Value

Per = Literal["model", "layer", "sub_update"]

Params = Any
Key = jax.Array | None


@dc.dataclass(frozen=True)
class Parameter:
    """A learned parameter that an integrator declares; the model creates it.

    `shape` is that of one copy; where a model's "vocabulary", "context" or "sub_updates" (their
    number n through depth) stands in it, or a function of them by these names, `sized` puts their
    numbers. `init` is its initial value: a number for every entry, or a function of
    (key, shape, dtype), whose key may be traced. There is one copy `per` model, layer or
    sub-update. A parameter whose gradient is zero by design says why in `zero_gradient`. One that
    weight decay leaves alone has `decays` False.
    """

    shape: tuple[int | str | Callable[..., int], ...]
    init: Scalar | Callable[..., Any]
    per: Per = "sub_update"
    zero_gradient: str = ""
    decays: bool = True

    def sized(self, **sizes: int) -> "Parameter":
        """Return the parameter with numbers for the sizes that only a model knows."""
        return dc.replace(self, shape=tuple(_size(n, sizes) for n in self.shape))

    @property
    def size(self) -> int:
        """How many numbers one copy has; raises `UserError` where only a model knows."""
        self._check_sized()
        return math.prod(n for n in self.shape if isinstance(n, int))

    def initial(self, key: jax.Array) -> jax.Array:
        """Return the initial value of one copy, in float32.

        Raises `UserError` where its shape depends on a model that is not there.
        """
        self._check_sized()
        if callable(self.init):
            return jnp.asarray(self.init(key, self.shape, jnp.float32))
        return jnp.full(self.shape, self.init, jnp.float32)

    def _check_sized(self) -> None:
        unknown = [name for n in self.shape for name in needs(n)]
        if unknown:
            raise UserError(
                f"a parameter of this shape needs a model's {unknown[0]}: give its value"
            )


def needs(size: int | str | Callable[..., int]) -> tuple[str, ...]:
    """Return the names of what has to be known before an entry of a shape is a number."""
    if isinstance(size, str):
        return (size,)
    return tuple(inspect.signature(size).parameters) if callable(size) else ()


def _size(size: Any, known: Mapping[str, int]) -> Any:
    names = needs(size)
    if not names or not set(names) <= set(known):
        return size
    return known[size] if isinstance(size, str) else size(**{n: known[n] for n in names})


@jax.tree_util.register_dataclass
@dc.dataclass(frozen=True)
class Field:
    """A sub-layer bound to its weights: the right-hand side f of the depth dynamics.

    `field(x)` is `apply(params, x, key)`. The weights and the dropout key are leaves of this
    pytree, never closed over, so that a custom derivative, a scan over layers or a sharding sees
    them. Called twice by one step, it draws the same dropout mask: one field, evaluated twice.
    """

    params: Params
    key: Any
    apply: Callable[[Any, Any, Any], Any] = dc.field(metadata={"static": True})

    def __call__(self, x: Array) -> Array:
        # A fence on both sides: the field compiles to the same program in every integrator, so two
        # that agree in arithmetic agree in bits. Without it fusion decides the order of its sums.
        fence = jax.lax.optimization_barrier
        return fence(self.apply(self.params, fence(x), self.key))

    def draw(self, key: Any) -> "Field":
        """Return the field with a dropout key, or None for no dropout."""
        return dc.replace(self, key=key)


def fields_key(key: Any, user: int) -> Any:
    """Return the key of one of several fields that share a sub-update; None stays None."""
    return None if key is None else jax.random.fold_in(key, user)


@jax.tree_util.register_dataclass
@dc.dataclass(frozen=True)
class Context:
    """Where in depth a sub-update stands, and what belongs to it.

    `index` counts sub-updates from 0 and may be traced, `total` is their number n, `kind` names
    the field ("attention", "mlp", "field"). `parameters` holds this sub-update's own copy of what
    the integrator declared, `key` is this sub-update's key or None; what is drawn with it has the
    batch as its first axis, or it would change with the pieces in which a batch is trained.
    `inputs` is what the embedding read (the tokens). `kinds` names all kinds of sub-update that
    there are, in order of appearance, and `visit` counts the earlier sub-updates of this kind.
    """

    index: Any
    parameters: Mapping[str, Any] = dc.field(default_factory=dict)
    key: Any = None
    inputs: Any = None
    total: int = dc.field(default=1, metadata={"static": True})
    kind: str = dc.field(default="field", metadata={"static": True})
    kinds: tuple[str, ...] = dc.field(default=("field",), metadata={"static": True})
    visit: Any = None
    memory: Literal["shared", "kind"] = dc.field(default="shared", metadata={"static": True})
    """Whose memory is asked for: one that all sub-updates share, or this kind's own."""

    @property
    def age(self) -> Any:
        """How many sub-updates the memory that is asked for has gathered before this one."""
        return self.index if self.memory == "shared" or self.visit is None else self.visit


@jax.tree_util.register_dataclass
@dc.dataclass(frozen=True)
class Info:
    """What one sub-update did, for recorders; an integrator shows all that it wants seen here.

    `increment` is the field's output as the geometry reads it, `raw_step` the step proposed before
    the geometry acts, `step` the realised one (the steps add up to x_n - x_0), `velocity` the
    velocity after the sub-update or None where there is none.
    """

    increment: Any
    raw_step: Any
    step: Any
    velocity: Any = None


class Integrator(Value):
    """A rule that moves the residual stream through depth, knowing nothing of what moves it.

    Write `step`; everything else has a default. A subclass is a frozen dataclass: list its
    hyperparameters as fields. Numbers among them are data, so sweeping one does not recompile.
    All memory goes into `state`, a pytree of fixed structure; all that is learned is declared in
    `parameters`.

        class Damped(Integrator):
            h: float = 0.5

            def step(self, field, stream, state, ctx):
                f = field(stream)
                step = self.h * f
                return stream + step, state, Info(increment=f, raw_step=step, step=step)
    """

    pre_norm: ClassVar[bool] = True
    """Whether the fields normalise the stream that they read."""

    project: ClassVar[Callable[..., Any] | None] = None
    """A function of the parameters, run after each optimizer step, or None."""

    evaluations: ClassVar[int] = 1
    """How often one step evaluates its field."""

    invertible: ClassVar[bool] = False
    """Whether a step can be undone from its stream and state, given the fields."""

    rests: ClassVar[bool] = True
    """Whether zero fields leave a stream without a velocity exactly where it is, at the start."""

    amplifies: ClassVar[bool] = False
    """Whether a step can enlarge rounding a hundredfold, so that only float64 compares it."""

    per_kind: ClassVar[bool] = False
    """Whether sub-updates of different kinds have memories of their own."""

    tokens_apart: ClassVar[bool] = True
    """Whether a step moves each token by itself, so that only fields look from one to another."""

    order: ClassVar[int | None] = None
    """The order of accuracy for x' = f(x), all sub-updates sharing one f; None where none is said.
    """

    reductions: ClassVar[tuple[Reduction, ...]] = ()
    """What it equals at the edge of its arguments; a registered name has its own."""

    @property
    def splitting(self) -> Any:
        """The sub-updates that a layer of several fields is cut into."""
        from velocity_ledger.integrators.splitting import LieTrotter

        return LieTrotter()

    def parameters(self, width: int) -> dict[str, Parameter]:
        """Declare what is learned, by name, for a stream of this width."""
        del width
        return {}

    def init(self, x0: Array, ctx: Context) -> tuple[Any, Any]:
        """Return the stream and the state before the first sub-update."""
        del ctx
        return x0, ()

    def step(self, field: Field, stream: Any, state: Any, ctx: Context) -> tuple[Any, Any, Info]:
        """Advance by one sub-update; return the stream, the state and what happened."""
        raise NotImplementedError(f"{type(self).__name__} must define step")

    def push(self, x: Array, increment: Array) -> Array:
        """Return a field's output that a step at x reads as an increment of this length."""
        del x
        return increment

    def position(self, stream: Any) -> Array:
        """Return the position x within the stream, whose path recorders measure."""
        return stream

    def constraint(self, x: Array) -> Any:
        """Return what vanishes where x lies in the integrator's space; None for a flat one."""
        del x
        return None

    def readout(self, stream: Any, state: Any, ctx: Context) -> Array:
        """Return what the head reads after the last sub-update."""
        del state, ctx
        return self.position(stream)

    def reference(self, fields: Any, x0: Any, own: Mapping[str, Any]) -> Any:
        """Return x_0..x_n by the same rule in NumPy and float64; None where none is written.

        `fields` are functions of an array, `own` holds the parameters as `integrate` takes them.
        A second version by hand is what the contract suite compares the first one with.
        """
        del fields, x0, own
        return None

    def __str__(self) -> str:
        from velocity_ledger.integrators._text import text

        return text(self)


def scalar(value: Any, like: Float[Array, "..."]) -> Any:
    """Return a hyperparameter ready to multiply an array, whose dtype it leaves alone."""
    if isinstance(value, (float, int)):
        return value
    if isinstance(value, (np.ndarray, np.number)):
        value = jnp.asarray(value)
    return value.astype(like.dtype)
