"""What is compiled into `thawline.native.fast`: every module here, in one namespace, and the generated kernels.

The modules are Cython in pure Python mode, so they also run as they are, in `thawline.native.plain`.
"""
