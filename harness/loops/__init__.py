"""The loops of a program, found from the call contexts of its MPI calls and its code."""
