"""The engine beside its peers on a simulated EFS; see docs/benchmarks.md."""
