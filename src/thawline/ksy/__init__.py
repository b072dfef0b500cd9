"""Specs as data.

`documents` reads a `.ksy` with the place of every key, `layouts` derives its byte tables, `diagram` draws it, `lint`
checks its style. `thawline.review` says what a change of a spec does.
"""
