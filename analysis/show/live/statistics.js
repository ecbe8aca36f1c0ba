/* What is computed of values for drawing: their histogram. */

function bins(values, most = 24) { // Freedman and Diaconis's width, the outermost bins take the rest
  const sorted = [...values].sort((a, b) => a - b), at = (share) => sorted[Math.round(share * (sorted.length - 1))];
  const [low, high] = [sorted[0], sorted[sorted.length - 1]];
  const width = 2 * (at(0.75) - at(0.25)) / Math.cbrt(sorted.length);
  const count = high > low ? clamp(width > 0 ? Math.ceil((high - low) / width) : 5, 5, most) : 1;
  const counts = new Array(count).fill(0);
  for (const value of sorted) counts[Math.min(count - 1, Math.floor((value - low) / (high - low || 1) * count))]++;
  return { low, high, counts };
}
