"""Models Amazon EFS: its state, its measurement, a probe's calibration, the load of a run."""
