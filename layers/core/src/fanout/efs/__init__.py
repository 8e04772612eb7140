"""Models Amazon EFS: state, measurement, calibration, the load of a run."""
