"""`python -m velocity_ledger`, the same as the command `velocity-ledger`."""

from velocity_ledger.cli import run

if __name__ == "__main__":
    run()
