"""A robust method that tells steps, outlier runs and trends apart."""
