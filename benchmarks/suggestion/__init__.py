"""Quality of suggestions: cross-validation on public sets, compared with simple baselines."""
