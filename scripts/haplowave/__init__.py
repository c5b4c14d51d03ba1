"""haplowave: variant calling with PairHMM and edit-distance kernels in OpenCL."""

__version__ = "0.1.0"
