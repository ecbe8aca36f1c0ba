"""A robust method that distinguishes steps, outlier runs and trends."""
