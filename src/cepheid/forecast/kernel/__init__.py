"""What numba compiles of forecasts."""
