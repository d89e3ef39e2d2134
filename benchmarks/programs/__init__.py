"""What is measured: a class each, which a worker builds from JSON and runs."""
