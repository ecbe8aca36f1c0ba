/* Two series paired by nights: their log ratio, its regimes, and the test of its mean. */

const PAIR_LEVEL = 0.99;
const BORDER_LEVEL = 0.001; // a border stays when Welch's test of its two sides is below
const FEWEST_PAIRS = 3;

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
function bordersOf(pairs, first, second) { // changes of either that the ratio has, too
  const places = new Set();
  for (const series of [first, second]) for (const change of series.changes) {
    const at = pairs.findIndex((pair) => pair.x >= Math.floor(series.times[change.index]));
    if (at > 0) places.add(at);
  }
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
