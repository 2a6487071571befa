"""The machine that refuses moves by which a board would be reached twice."""
