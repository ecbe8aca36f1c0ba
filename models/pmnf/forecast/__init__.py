"""What kernels will take beyond the measured points, and how far off that may be.

A model in performance model normal form explains all points. What lies beyond them depends most on
the last ones: caches, protocols and communication change the growth of real programs more often
than a model of few terms can. So simple candidates predict (`candidates`), each is judged by how it
would have foretold the last measured points, over all kernels of an experiment, and
the median of those that did well is the prediction. The width of its interval comes from the same
errors (`kernels`).
"""

from hindmost.models.pmnf.forecast.kernels import MeasuredKernels, Predictions, forecast_kernels

__all__ = ["MeasuredKernels", "Predictions", "forecast_kernels"]
