/* Two series paired by nights: their log ratio, its regimes, and the test of its mean. */

const PAIR_LEVEL = 0.99;
const BORDER_LEVEL = 0.001; // a border stays when Welch's test of its two sides is below
const FEWEST_PAIRS = 3;
const FEWEST_BESIDE = 7; // nights on both sides of a change that the ratio alone has
const MOST_BESIDE = 40; // and those that are looked at: farther ones may be beyond another change

function nightly(series) { // day -> mean of the logarithms of its runs, and whether one is an outlier
  const nights = new Map();
  series.times.forEach((time, i) => {
    const night = nights.get(Math.floor(time)) ?? { sum: 0, count: 0, hollow: false };
    night.sum += series.logs[i];
    night.count += 1;
    night.hollow ||= series.outlying.has(i);
    nights.set(Math.floor(time), night);
  });
  return nights;
}
function paired(first, second) {
  const others = nightly(second), pairs = [];
  for (const [at, night] of nightly(first)) {
    const other = others.get(at);
    if (other) pairs.push({ x: at, y: night.sum / night.count - other.sum / other.count, hollow: night.hollow || other.hollow });
  }
  return pairs;
}
function ownChanges(pairs, from = 0, to = pairs.length) { // of the ratio itself, by binary segmentation
  const plain = [];
  for (let i = from; i < to; i++) if (!pairs[i].hollow) plain.push(i);
  const values = plain.map((i) => pairs[i].y), places = values.length - 2 * FEWEST_BESIDE + 1;
  const beside = (k) => [values.slice(Math.max(k - MOST_BESIDE, 0), k), values.slice(k, k + MOST_BESIDE)];
  let best = -1, at = 0;
  for (let k = FEWEST_BESIDE; k < FEWEST_BESIDE + places; k++) {
    const far = Math.abs(welchTest(...beside(k)).t);
    if (far > best) [best, at] = [far, k];
  }
  if (!at) return [];
  const sides = beside(at), means = sides.map((side) => moments(side).mean);
  const related = correlation(sides.flatMap((side, i) => side.map((value) => value - means[i])));
  if (welch(...sides, (1 + related) / (1 - related)) * places >= BORDER_LEVEL) return []; // Bonferroni: the place was looked for
  return [...ownChanges(pairs, from, plain[at]), plain[at], ...ownChanges(pairs, plain[at], to)];
}
function bordersOf(pairs, first, second) { // changes of either that the ratio has, too, and those that it has alone
  const places = new Set();
  for (const series of [first, second]) for (const change of series.changes) {
    const at = pairs.findIndex((pair) => pair.x >= Math.floor(series.times[change.index]));
    if (at > 0) places.add(at);
  }
  const told = [...places];
  for (const at of ownChanges(pairs)) if (told.every((place) => Math.abs(place - at) >= FEWEST_PAIRS)) places.add(at);
  const borders = [...places].sort((a, b) => a - b);
  const part = (from, to) => pairs.slice(from, to).filter((pair) => !pair.hollow).map((pair) => pair.y);
  while (borders.length) { // take the least certain one away until all are certain
    const tests = borders.map((border, i) => {
      const sides = [part(borders[i - 1] ?? 0, border), part(border, borders[i + 1] ?? pairs.length)];
      return sides.some((side) => side.length < FEWEST_PAIRS) ? 2 : welch(...sides);
    });
    const worst = tests.indexOf(Math.max(...tests));
    if (tests[worst] < BORDER_LEVEL) break;
    borders.splice(worst, 1);
  }
  return borders;
}
function compared(first, second) {
  const pairs = paired(first, second), borders = bordersOf(pairs, first, second), edges = [0, ...borders, pairs.length];
  const regimes = edges.slice(1).map((stop, i) => {
    const inside = pairs.slice(edges[i], stop).filter((pair) => !pair.hollow).map((pair) => pair.y);
    return { start: edges[i], stop, inside, ...meanOf(inside.length ? inside : [NaN], PAIR_LEVEL) };
  });
  return { pairs, borders, regimes: regimes.filter((regime) => regime.inside.length), last: regimes[regimes.length - 1] };
}
