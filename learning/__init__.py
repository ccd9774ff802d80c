"""What runs teach: memory, thresholds, calibration."""
