"""The kinds of rounds: for each its tables, and beside them its kernels."""
