"""Speed of the columnar backend beside other ways to read the same bytes: `python -m tools.bench`.

`data` makes the bytes, `ours` and the modules named for formats read them, `cases` pairs both and has the targets,
`measure` takes the time, `processes` measures fresh processes, `report` prints and saves the result.
"""
