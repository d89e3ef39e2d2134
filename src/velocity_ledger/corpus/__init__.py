"""Text, its vocabulary, and windows of it as a function of (seed, step)."""

from velocity_ledger.corpus._corpus import Corpus as Corpus, check_length as check_length
from velocity_ledger.corpus._gutenberg import cached_file as cached_file
from velocity_ledger.corpus._here import Here as Here, here as here
from velocity_ledger.corpus._load import (
    corpus_from_record as corpus_from_record,
    load_corpus as load_corpus,
)
from velocity_ledger.corpus._vocabulary import Vocabulary as Vocabulary
from velocity_ledger.corpus._windows import (
    window_starts as window_starts,
    window_starts_of as window_starts_of,
    windows as windows,
)
