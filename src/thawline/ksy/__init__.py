"""Specs as data.

`documents` reads a `.ksy` with the place of every key, `layouts` derives its byte tables, `diagram` draws it, `lint`
checks its style, `refusals` reads the rules of single tools. `document_specs` reads the other kind of spec, which says
what a JSON document holds. `thawline.review` says what a change of a spec does.
"""
