"""Relations as hypothesis draws them, and graphs at random."""

from collections.abc import Collection, Iterable

import networkx as nx
import numpy as np
from hypothesis import strategies as st

from graph.algorithms.matrix import Matrix, matrix_from_arrays
from graph.relations import PATH_KINDS, Relation, RelationKind, is_binding_dependency

CONFIDENCES = st.one_of(
    st.sampled_from((0.1, 0.25, 0.5, 0.75, 1.0)),
    st.floats(min_value=0.01, max_value=1.0, allow_subnormal=False),
)


def relations(
    kinds: Collection[RelationKind] = tuple(RelationKind),
    *,
    tools: int = 7,
    most: int = 24,
    loops: bool = False,
) -> st.SearchStrategy[list[Relation]]:
    """Draw relations, each key once, in any order: cycles and contradictions as they come."""
    numbers = st.integers(1, tools)
    ends = st.tuples(numbers, numbers).filter(lambda pair: loops or pair[0] != pair[1])
    one = st.builds(
        lambda pair, kind, confidence, required: Relation(*pair, kind, confidence, required),
        ends,
        st.sampled_from(sorted(kinds)),
        CONFIDENCES,
        st.booleans(),
    )
    return st.lists(one, max_size=most, unique_by=lambda relation: relation.key)


def arcs_of(drawn: Iterable[Relation]) -> dict[tuple[int, int], float]:
    """Return the arcs that paths follow, by the definition: the slow way."""
    arcs: dict[tuple[int, int], float] = {}
    for relation in drawn:
        pairs = [(relation.source, relation.target)]
        if relation.kind is RelationKind.OFTEN_USED_WITH:
            pairs.append((relation.target, relation.source))
        if relation.kind in PATH_KINDS and relation.confidence > 0.0:
            for pair in pairs:
                arcs[pair] = max(arcs.get(pair, 0.0), relation.confidence)
    return arcs


def digraph(drawn: Iterable[Relation], *, tools: Iterable[int] = ()) -> nx.DiGraph:
    """Return the arcs as a networkx graph, with `weight`."""
    graph = nx.DiGraph()
    drawn = list(drawn)
    graph.add_nodes_from(sorted({*tools, *(end for one in drawn for end in one[:2])}))
    graph.add_weighted_edges_from((*pair, weight) for pair, weight in arcs_of(drawn).items())
    return graph


def random_matrix(*, tools: int, arcs: int, seed: int) -> Matrix:
    """Return arcs at random: few tools have many, some have none."""
    random = np.random.default_rng(seed)
    popularity = 1.0 / np.sqrt(np.arange(1, tools + 1))
    popularity /= popularity.sum()
    ends = random.choice(tools, (2, arcs), p=popularity)
    return matrix_from_arrays(*ends, 1.0 - random.random(arcs), tools=np.arange(tools))


def with_rows(matrix: Matrix, tools: Iterable[int]) -> Matrix:
    """Return a matrix with rows for more tools, which have no arcs."""
    arcs = matrix.weights.tocoo()
    ends = matrix.tools[arcs.row], matrix.tools[arcs.col]
    return matrix_from_arrays(*ends, arcs.data, tools=np.array([*matrix.tools, *tools], np.int64))


def as_networkx(matrix: Matrix) -> nx.DiGraph:
    """Return a matrix as a networkx graph of the same tools."""
    graph = nx.from_scipy_sparse_array(matrix.weights, create_using=nx.DiGraph)
    return nx.relabel_nodes(graph, dict(enumerate(matrix.tools.tolist())))


def undirected(graph: nx.DiGraph) -> nx.Graph:
    """Return a graph without directions; weights of both directions add up."""
    found = nx.Graph()
    found.add_nodes_from(graph)
    for one, other, weight in graph.edges(data="weight"):
        known = found.get_edge_data(one, other, {"weight": 0.0})
        found.add_edge(one, other, weight=known["weight"] + weight)
    return found


def assert_weakest_of_a_cycle(one, relations):
    graph = nx.DiGraph()
    graph.add_nodes_from([one.source, one.target])
    graph.add_edges_from(
        (other.source, other.target)
        for other in relations
        if (is_binding_dependency(other), other.confidence)
        >= (is_binding_dependency(one), one.confidence)
    )
    assert nx.has_path(graph, one.target, one.source)
