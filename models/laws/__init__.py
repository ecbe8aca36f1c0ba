"""Laws of random times: samples of any size, what is fitted to them, their maxima."""
