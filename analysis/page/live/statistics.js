/* Student's law, and what is computed with it. */

const LANCZOS = [676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
  12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7];

function logGamma(x) { // Lanczos, g = 7; Press et al., Numerical Recipes, section 6.1
  const t = x + 6.5;
  const sum = LANCZOS.reduce((total, c, i) => total + c / (x + i), 0.99999999999980993);
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
}
function betaFraction(a, b, x) { // the continued fraction by Lentz's method; ibid., section 6.4
  const least = 1e-300, away = (value) => Math.abs(value) < least ? least : value;
  let c = 1, d = 1 / away(1 - (a + b) * x / (a + 1)), h = d;
  for (let m = 1; m <= 500; m++) {
    for (const part of [m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
      -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))]) {
      d = 1 / away(1 + part * d);
      c = away(1 + part / c);
      h *= d * c;
    }
    if (Math.abs(d * c - 1) < 1e-15) break;
  }
  return h;
}
function incompleteBeta(a, b, x, rest = 1 - x) { // regularised; `rest` is 1 - x, where that is known better
  if (x <= 0 || rest <= 0) return x <= 0 ? 0 : 1;
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log(rest));
  return x < (a + 1) / (a + b + 2) ? front * betaFraction(a, b, x) / a : 1 - front * betaFraction(b, a, rest) / b;
}
function twoSided(t, freedom) { // probability that Student's |t| is larger
  const square = t * t;
  return incompleteBeta(freedom / 2, 0.5, freedom / (freedom + square), square / (freedom + square));
}
function studentQuantile(level, freedom) { // |t| that is not exceeded at that probability
  let low = 0, high = 1;
  while (twoSided(high, freedom) > 1 - level) high *= 2;
  for (let i = 0; i < 200 && high - low > 1e-14 * high; i++) {
    const middle = (low + high) / 2;
    if (twoSided(middle, freedom) > 1 - level) low = middle; else high = middle;
  }
  return (low + high) / 2;
}
function moments(values) {
  const n = values.length, mean = values.reduce((sum, value) => sum + value, 0) / n;
  const variance = n > 1 ? values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1) : 0;
  return { n, mean, variance };
}
function meanOf(values, level) { // the mean with its interval, and the t-test against 0; nights that resemble the last count for less
  const { n, mean, variance } = moments(values), related = correlation(values);
  const inflation = (1 + related) / (1 - related), error = Math.sqrt(variance / n * inflation);
  if (n < 2 || !error) return { n, mean, related: 0, low: mean, high: mean, t: NaN, freedom: n - 1, p: mean ? 0 : 1 };
  const freedom = related ? Math.max((n - 1) / inflation, 1) : n - 1;
  const reach = studentQuantile(level, freedom) * error, t = mean / error;
  return { n, mean, related, low: mean - reach, high: mean + reach, t, freedom, p: twoSided(t, freedom) };
}
function welchTest(first, second) { // Welch's statistic and its degrees of freedom
  const [a, b] = [first, second].map(moments), [u, v] = [a.variance / a.n, b.variance / b.n];
  const freedom = (u + v) ** 2 / (u * u / Math.max(a.n - 1, 1) + v * v / Math.max(b.n - 1, 1));
  return u + v > 0 ? { t: (a.mean - b.mean) / Math.sqrt(u + v), freedom } : { t: a.mean === b.mean ? 0 : Infinity, freedom: a.n + b.n - 2 };
}
function welch(first, second, inflation = 1) { // the p-value that two means are one; correlated nights count as fewer
  const { t, freedom } = welchTest(first, second);
  return Number.isFinite(t) ? twoSided(t / Math.sqrt(inflation), Math.max(freedom / inflation, 1)) : 0;
}
function correlation(values) { // of each value with the next, where it is seen; as hindmost compare takes it
  const { n, mean, variance } = moments(values);
  if (n < 10 || !variance) return 0;
  let sum = 0;
  for (let i = 1; i < n; i++) sum += (values[i] - mean) * (values[i - 1] - mean);
  const found = sum / (variance * (n - 1));
  return found > 2 / Math.sqrt(n) ? found : 0;
}
function bins(values, most = 24) { // Freedman and Diaconis's width, the outermost bins take the rest
  const sorted = [...values].sort((a, b) => a - b), at = (share) => sorted[Math.round(share * (sorted.length - 1))];
  const [low, high] = [sorted[0], sorted[sorted.length - 1]];
  const width = 2 * (at(0.75) - at(0.25)) / Math.cbrt(sorted.length);
  const count = high > low ? clamp(width > 0 ? Math.ceil((high - low) / width) : 5, 5, most) : 1;
  const counts = new Array(count).fill(0);
  for (const value of sorted) counts[Math.min(count - 1, Math.floor((value - low) / (high - low || 1) * count))]++;
  return { low, high, counts };
}
