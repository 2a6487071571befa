"""Mutants: changes of the code that the tests must catch. `python -m tests.mutants` tries them."""
