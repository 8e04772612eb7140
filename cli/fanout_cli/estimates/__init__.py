"""Estimates: a forecast without a run, the forecast of a run, and what if."""
