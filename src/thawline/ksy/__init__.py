"""Specs as data, for whoever reads a `.ksy` besides the Kaitai Struct compiler.

`documents` reads them with the place of every key, `layouts` derives their byte tables, `diagram` draws them, `lint`
holds them to the style guide; `thawline.review` says what a change of one does.
"""
