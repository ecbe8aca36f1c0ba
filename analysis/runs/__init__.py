"""Run files: read, grouped into repeats, checked, summarised and drawn.

`read` finds and opens files and keeps results of them, `configuration` puts repeats together,
`tallies` turns a file into what noise models take. `check` and its siblings produce each `finding`;
`summary` is what ``hindmost show`` prints; `cycles` reads adaptive runs.
"""
