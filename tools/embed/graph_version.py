"""What names a graph that `bert_graph` builds; apart from it, since that module is heavy."""

GRAPH_VERSION = 1  # part of the cache's key: raise it when the graph changes
WEIGHTS = "weights"  # name that a graph gives the safetensors file it refers to
