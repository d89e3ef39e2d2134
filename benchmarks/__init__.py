"""Speed, measured side by side in one run: ours, the article's way, PyTorch, lone products.

    make bench                     everything, with the newest Python
    make bench PYTHON=3.11         on the other corner of the supported libraries
    python -m benchmarks --help    parts of it

Every program is a process of its own that compiles once and then waits. In each round each works
for a few steps while the others sleep, so what slows the machine slows all of them; ratios are
formed within a round. Absolute figures drift from run to run: only ratios within one run count.

This module and `worker`, `shape` and `text` need nothing but Python and NumPy: PyTorch's
environment has nothing else.
"""
