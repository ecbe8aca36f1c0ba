/* Two series paired by nights. Changes, means and intervals of the ratio are those that hindmost found. */

const FEWEST_PAIRS = 3;

function nightly(series) { // day -> mean of the logarithms of its runs
  const nights = new Map();
  series.times.forEach((time, i) => {
    const night = nights.get(Math.floor(time)) ?? { sum: 0, count: 0 };
    night.sum += series.logs[i];
    night.count += 1;
    nights.set(Math.floor(time), night);
  });
  return nights;
}
function paired(first, second, outliers) { // the points of the chart
  const others = nightly(second), pairs = [];
  for (const [at, night] of nightly(first)) {
    const other = others.get(at);
    if (other) pairs.push({ x: at, y: night.sum / night.count - other.sum / other.count, hollow: outliers.has(at) });
  }
  return pairs;
}
function foundFor(page, first, second) { // what hindmost found of a pair, and the sign that turns it round; null if it was not asked for
  const places = [first, second].map((series) => page.series.indexOf(series)), turned = places[0] > places[1];
  const found = page.pairs.get(places.sort((a, b) => a - b).join());
  return found ? { found, sign: turned ? -1 : 1 } : null;
}
function compared(page, first, second) {
  const asked = foundFor(page, first, second), found = asked?.found;
  const pairs = paired(first, second, new Set(found?.outliers));
  if (!found || !pairs.length) return { pairs, found: null, borders: [], regimes: [], last: null };
  const edges = [0, ...found.borders.map((day) => pairs.findIndex((pair) => pair.x >= day)), pairs.length];
  const regimes = found.regimes.map(([mean, ...ends], i) => {
    const [low, high] = ends.length ? ends.map((end) => end * asked.sign).sort((a, b) => a - b) : [mean * asked.sign, mean * asked.sign];
    const inside = pairs.slice(edges[i], edges[i + 1]).filter((pair) => !pair.hollow).map((pair) => pair.y);
    return { start: edges[i], stop: edges[i + 1], inside, mean: mean * asked.sign, low, high };
  });
  const drift = found.drift === null ? null : asked.sign > 0 ? found.drift : 100 * (1 / (1 + found.drift / 100) - 1);
  return { pairs, found, drift, borders: edges.slice(1, -1), regimes, last: regimes[regimes.length - 1] };
}
