"""Admin pages of runs, to look at; what people decide is registered by the composition root."""
