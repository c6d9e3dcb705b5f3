"""The evolving graph in flat arrays, and the edges that follow from what it says."""
