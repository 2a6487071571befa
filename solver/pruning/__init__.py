"""Operator pruning FSM: it prunes moves by which a board would be reached twice."""
