"""Embedded test data: a reference, a family's true haplotypes, and reads drawn from them.

`dataset.write` makes a whole folder; the modules beside it make its parts and can be used alone:
reference -> variants -> short_reads, long_reads -> alignment -> dataset.
"""
