"""The engine beside its peers on a simulated EFS; see docs/develop/benchmarks/mounts.md."""
