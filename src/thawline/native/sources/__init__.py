"""What is compiled into `thawline.native.fast`: every module here, in one namespace, and the generated kernels.

They are Cython in pure Python mode, so that they also run as they are: `thawline.native.plain` has them so.
"""
