"""Speed of the columnar backend beside other ways to read the same bytes: `python -m tools.bench`.

`data` makes the bytes, `ours` and the modules named for formats read them, `cases` pairs both and
names the figures to reach, `measure` takes the time, `processes` looks at fresh processes, and
`report` prints and saves what came out.
"""
