"""What the tables and figures of `benchmarks.figures` are run, recorded, drawn and described with."""
