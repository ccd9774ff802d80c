"""Live updates of the console over websockets, fed by LISTEN/NOTIFY from any process."""
