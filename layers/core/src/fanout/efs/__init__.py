"""What Amazon EFS does: model, measurement, calibration, load."""
