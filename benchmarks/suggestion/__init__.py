"""How good suggestions are: cross-validation on public sets, beside simpler ways to suggest."""
