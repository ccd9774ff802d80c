"""Learn on public sets what ranking and binding know before any run."""
