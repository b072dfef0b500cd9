"""The speed of the columnar engine compared with other readers of the same bytes: `python -m tools.bench`.

`data` builds the bytes; `ours` and the modules named for formats read them. `cases` pairs both and states the targets,
`measure` takes the time, `processes` measures fresh processes, and `report` prints and saves the results.
"""
