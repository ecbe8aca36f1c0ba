"""The figures of one run or of several, made from run files."""
