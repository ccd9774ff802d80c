"""Sessions of callers: what each did lately, captured as events and analysed while it is idle."""
