"""The adaptive experiment: recorded cycles of the kernel, each predicted before it."""
