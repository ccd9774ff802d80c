"""Constants of the graphs built by `bert_graph`; separate because that module is heavy."""

GRAPH_VERSION = 10  # part of caches' keys: raise it when a graph or what was trained changes
WEIGHTS = "weights"  # name that a graph gives the file of its weights
ADAPTER_SHARE = "adapter_share"  # input of a graph with an adapter: 1 for queries, 0 for documents
