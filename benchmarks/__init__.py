"""Measurements, one file per table or figure; `heliograph bench` drives them."""
