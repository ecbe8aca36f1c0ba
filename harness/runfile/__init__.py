"""Run files: one run, one HDF5 file that is valid netCDF-4, with its checksum appended.

``schema`` says what stands in a file, ``contents`` what crosses between the ranks and a file;
``writer`` is the one place that writes them and ``reader`` the one that reads them.
"""
