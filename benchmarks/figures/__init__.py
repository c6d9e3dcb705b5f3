"""The tables and figures of the papers, peers and growth, a file for each paper; every `Experiment` in them is run."""
