"""Run files: read, grouped into repeats, checked, summarised and drawn.

`read` finds and opens files, `groups` puts repeats together by their `configuration`, `model_input`
turns a file into what noise models take, and `cache` keeps results next to it. `check` and its
siblings produce each `finding`; `summary` is what ``hindmost show`` prints; `cycles` reads adaptive
runs.
"""
