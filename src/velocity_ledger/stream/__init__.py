"""The stream: runs sub-updates through depth and hands what happens to a recorder."""

from velocity_ledger.stream._bind import bind as bind
from velocity_ledger.stream._integrate import integrate as integrate
from velocity_ledger.stream._layers import (
    Layer as Layer,
    SubUpdate as SubUpdate,
    run_layers as run_layers,
)
