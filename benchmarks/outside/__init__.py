"""An outside test of search and suggestion: real servers, everyday wishes.

`servers.json` pins MCP servers of npm and PyPI that list their tools without an account, with how
each is started; the values of their variables are placeholders. Nobody tunes search or suggestion
for these servers.

The wishes are what people type, of one to three steps, in English, German, Chinese and Spanish;
some are served by no tool. What is right for each was written down before any result was seen. A
row of `wishes_open.jsonl` or `wishes_kept.jsonl` has

- `id`, `wish`, `language`;
- `steps`: for each step the `tools` that serve it, any one of which is right, and the `arguments`
  that the wish states. A key names a parameter, or several with `|` where tools call it
  differently; a tool without such a parameter need not bind it. A value is the one accepted, a
  list of those accepted, or `{"contains": [...]}`: texts that all have to occur in it. In a
  parameter that is a list or an object the value may be at any depth;
- `helpers`: tools that may be in the workflow beside the steps, such as a look-up of an id.

A wish without steps is one that no tool serves. The halves were split by a hash of the id, within
each language and number of steps. The open half is for anybody who works on search and suggestion;
the kept half is only looked at as a sum.

The blind set, `wishes_blind.jsonl` over the servers of `servers_blind.json`, was written by
somebody who knew only the lists of tools, with French too. It is only looked at as a sum, and
never to choose between two ways of search or planning.

    python -m benchmarks.outside --half open|kept|all|blind [--json]
"""
