"""The hot loops: the only home of Numba, imported when a batch is large enough to pay for it.

A kernel works on flat arrays, writes into arrays its caller made and raises nothing. It is declared with
`cache.kernel` and the signatures it is really called with, so that `cache.warm` can compile it ahead of time.
"""
