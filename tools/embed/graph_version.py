"""Constants of the graphs built by `bert_graph`; separate because that module is heavy."""

GRAPH_VERSION = 1  # part of the cache's key: raise it when the graph changes
WEIGHTS = "weights"  # name that a graph gives the safetensors file it refers to
