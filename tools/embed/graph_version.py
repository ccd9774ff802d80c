"""Constants of the graphs built by `bert_graph`; separate because that module is heavy."""

GRAPH_VERSION = 2  # part of the cache's key: raise it when the graph changes
WEIGHTS = "weights"  # name that a graph gives the file of its weights
