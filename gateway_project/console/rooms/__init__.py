"""Rooms of the console: one module per page or group of pages."""
