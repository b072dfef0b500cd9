

# Appended to the native module where it is built for the fuzzer.

from libc.stdlib cimport calloc, malloc
from libc.string cimport memcpy, memset


cdef extern from "Python.h":
    ctypedef enum PyMemAllocatorDomain:
        PYMEM_DOMAIN_MEM
    ctypedef struct PyMemAllocatorEx:
        void *ctx
        void *(*malloc)(void *, size_t) noexcept nogil
        void *(*calloc)(void *, size_t, size_t) noexcept nogil
        void *(*realloc)(void *, void *, size_t) noexcept nogil
        void (*free)(void *, void *) noexcept nogil
    void PyMem_GetAllocator(PyMemAllocatorDomain, PyMemAllocatorEx *)
    void PyMem_SetAllocator(PyMemAllocatorDomain, PyMemAllocatorEx *)


cdef PyMemAllocatorEx fuzz_pools


cdef void *fuzz_malloc(void *_, size_t size) noexcept nogil:
    return malloc(size or 1)


cdef void *fuzz_calloc(void *_, size_t count, size_t size) noexcept nogil:
    return calloc(count or 1, size or 1)


cdef void *fuzz_realloc(void *_, void *block, size_t size) noexcept nogil:
    # A block from before comes from Python's pools, which pass on what is not theirs.
    return fuzz_pools.realloc(fuzz_pools.ctx, block, size) if block else malloc(size or 1)


def fuzz_watch_arrays():
    """Give every array a block that AddressSanitizer watches. Objects stay in Python's pools, which are quicker."""
    cdef PyMemAllocatorEx watched
    PyMem_GetAllocator(PYMEM_DOMAIN_MEM, &fuzz_pools)
    watched = fuzz_pools
    watched.malloc, watched.calloc, watched.realloc = fuzz_malloc, fuzz_calloc, fuzz_realloc
    PyMem_SetAllocator(PYMEM_DOMAIN_MEM, &watched)


fuzz_watch_arrays()


def fuzz_hold(str typecode, view):
    """An array as it is handed over, so that this is done once and not with every call."""
    cdef long long[::1] longs
    cdef int[::1] ints
    cdef short[::1] shorts
    cdef signed char[::1] chars
    cdef unsigned char[::1] bytes_
    if typecode == "q":
        longs = view
        return longs
    if typecode == "i":
        ints = view
        return ints
    if typecode == "h":
        shorts = view
        return shorts
    if typecode == "b":
        chars = view
        return chars
    bytes_ = view
    return bytes_


cdef class fuzz_rooms:
    """Arrays that are filled together; the first item of some of them is 0."""
    cdef list held
    cdef unsigned char *starts[256]
    cdef size_t sizes[256]
    cdef size_t zeros[256]
    cdef int count

    def __init__(self, list rooms):
        """Of pairs: the bytes of an array, and how many of them are 0."""
        cdef unsigned char[::1] view
        self.held, self.count = rooms, 0
        for view, zeros in rooms:
            if view.shape[0] and self.count < 256:
                self.starts[self.count], self.sizes[self.count] = &view[0], view.shape[0]
                self.zeros[self.count] = zeros
                self.count += 1

    def fill(self, bytes pattern):
        """Fill all of them with eight bytes that are repeated."""
        cdef const unsigned char *eight = pattern
        cdef size_t at
        cdef int index
        for index in range(self.count):
            at = 0
            while at + 8 <= self.sizes[index]:
                memcpy(self.starts[index] + at, eight, 8)
                at += 8
            memcpy(self.starts[index] + at, eight, self.sizes[index] - at)
            memset(self.starts[index], 0, self.zeros[index])


cdef extern from "Python.h":
    object PyMemoryView_FromMemory(char *, Py_ssize_t, int)


ctypedef int (*fuzz_callback)(const unsigned char *, size_t) noexcept
ctypedef int (*fuzz_driver)(int *, char ***, fuzz_callback) noexcept
cdef object fuzz_execute


cdef int fuzz_one(const unsigned char *data, size_t size) noexcept:
    view = PyMemoryView_FromMemory(<char *>data, <Py_ssize_t>size, 0x100)
    fuzz_execute(view)
    view.release()
    return 0


def fuzz_run(unsigned long long driver, execute, list arguments):
    """Let libFuzzer call a function with one input after another; what that raises goes to `sys.unraisablehook`."""
    global fuzz_execute
    cdef int count = len(arguments)
    cdef char **given = <char **>calloc(count + 1, sizeof(char *))
    cdef int index
    fuzz_execute = execute
    for index in range(count):
        given[index] = arguments[index]
    return (<fuzz_driver><size_t>driver)(&count, &given, fuzz_one)
