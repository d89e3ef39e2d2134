"""Integrators of the residual stream: values that know nothing of attention or MLPs.

Momentum, geometry, step scale and splitting are separate axes; a variant is a composition with a
name.
"""

from velocity_ledger.integrators._between import between as between
from velocity_ledger.integrators._composition import Composition as Composition
from velocity_ledger.integrators._contract import (
    Context as Context,
    Field as Field,
    Info as Info,
    Integrator as Integrator,
    Parameter as Parameter,
    Per as Per,
)
from velocity_ledger.integrators._equation import Equation as Equation, equation as equation
from velocity_ledger.integrators._family import FAMILIES as FAMILIES, family as family
from velocity_ledger.integrators._hamiltonian import Staggered as Staggered
from velocity_ledger.integrators._named import (
    ledger as ledger,
    ngpt_ledger as ngpt_ledger,
    ngpt_lite as ngpt_lite,
    plain as plain,
)
from velocity_ledger.integrators._reductions import Reduction as Reduction
from velocity_ledger.integrators._registry import (
    arguments as arguments,
    builder as builder,
    names as names,
    reductions as reductions,
    register as register,
    sources as sources,
    summary as summary,
)
from velocity_ledger.integrators._text import axes as axes, parse as parse, text as text
from velocity_ledger.integrators._user_file import source_of as source_of
from velocity_ledger.integrators._value import (
    Scalar as Scalar,
    Value as Value,
    is_static as is_static,
)
from velocity_ledger.integrators.coefficient import (
    Coefficient as Coefficient,
    Cosine as Cosine,
    Drawn as Drawn,
    Learned as Learned,
    LedgerGain as LedgerGain,
    Linear as Linear,
    Number as Number,
    Signs as Signs,
    Table as Table,
)
from velocity_ledger.integrators.geometry import (
    Flat as Flat,
    Geometry as Geometry,
    Sphere as Sphere,
    TangentSphere as TangentSphere,
    TargetSphere as TargetSphere,
    retract as retract,
)
from velocity_ledger.integrators.momentum import (
    AdamsBashforth2 as AdamsBashforth2,
    Euler as Euler,
    GatedTwoStage as GatedTwoStage,
    HeavyBall as HeavyBall,
    Heun as Heun,
    Impulse as Impulse,
    LookAhead as LookAhead,
    Momentum as Momentum,
    Preconditioned as Preconditioned,
    RungeKutta4 as RungeKutta4,
    Separate as Separate,
    TwoStage as TwoStage,
)
from velocity_ledger.integrators.phase import (
    Clock as Clock,
    DampedAdamsBashforth2 as DampedAdamsBashforth2,
    DampedEuler as DampedEuler,
    DampedStrang as DampedStrang,
    ExponentialEuler as ExponentialEuler,
    LogLinear as LogLinear,
    Phase as Phase,
    PresymplecticEuler as PresymplecticEuler,
    Rule as Rule,
)
from velocity_ledger.integrators.preconditioner import (
    Orthogonal as Orthogonal,
    Preconditioner as Preconditioner,
    RightRoot as RightRoot,
    SecondMoment as SecondMoment,
)
from velocity_ledger.integrators.reading import (
    Coast as Coast,
    Position as Position,
    Reading as Reading,
)
from velocity_ledger.integrators.splitting import (
    LieTrotter as LieTrotter,
    Macaron as Macaron,
    Parallel as Parallel,
    Splitting as Splitting,
    Strang as Strang,
    Whole as Whole,
)
from velocity_ledger.integrators.step_scale import (
    Alpha as Alpha,
    Fixed as Fixed,
    StepScale as StepScale,
)
from velocity_ledger.integrators.streams import (
    Connection as Connection,
    DenseFormer as DenseFormer,
    Dynamic as Dynamic,
    HyperConnections as HyperConnections,
    Manifold as Manifold,
    Static as Static,
)
