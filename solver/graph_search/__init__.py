"""Searches that keep the boards they meet. Start reading in `graph_search`."""
