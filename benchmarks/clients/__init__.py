"""An honest comparison: real clients with all servers directly, and with Foregate in between.

    python -m benchmarks.clients FOLDER [--client NAME] [--exposure WAY] [--job NAME]

Claude Code, Codex and Gemini CLI, in pinned versions, do the jobs of `jobs.json`. The model is a
script on loopback that reads what the client sends, as a model would: it calls a tool that is
loaded, else looks for it with the client's or Foregate's search. So the figures say what a client
sends and what gets through; they do not say what a model would choose.

The first run installs clients and four real servers of npm in FOLDER, without running packages'
scripts, writes a catalogue of generated servers, and moves a copy of the client's configuration
behind Foregate with the commands that a person uses. Nobody is trusted, and nothing is approved.
Results are kept in FOLDER/results.json, so that a run of some clients, ways or jobs renews only
these; FOLDER/results.md has the tables, some of whose rows are in docs/clients.md.
"""
