"""The seeds' workloads, any size, seeded: tables that the engines, the benchmarks and the demo read."""
