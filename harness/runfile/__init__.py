"""Run files: one run, one HDF5 file that is valid netCDF-4, with its checksum appended.

``schema`` declares the contents of a file, ``contents`` the data between ranks and file; only
``writer`` writes run files, and only ``reader`` reads them.
"""
