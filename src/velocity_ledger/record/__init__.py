"""Recorders: what to keep of a path through depth, reduced where the states are."""

from velocity_ledger.record._geometry import angle as angle, split_norm as split_norm
from velocity_ledger.record._path_statistics import PathStatistics as PathStatistics
from velocity_ledger.record._recorder import Nothing as Nothing, Recorder as Recorder
from velocity_ledger.record._states import States as States
from velocity_ledger.record._step_gram import StepGram as StepGram
from velocity_ledger.record._together import Together as Together
