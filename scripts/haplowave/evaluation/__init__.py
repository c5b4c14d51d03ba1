"""Calls against a truth set, by what they mean and not by how they are written; docs/evaluation.md says how.

alleles: the two files as alleles and their normalised atoms -> matching: which of them agree, in clusters and through
haplotypes -> summary: counts, tables and the lists of errors. `evaluate.evaluate` does all of it.
"""
