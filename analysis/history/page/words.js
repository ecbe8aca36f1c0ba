/* What is said of nights, changes and regimes. */

const signed = (value) => `${value > 0 ? "+" : value < 0 ? "−" : ""}${Number(Math.abs(value).toPrecision(3))}`;
const probability = (p) => p < 1e-15 ? "< 1e-15" : p < 1e-3 ? p.toExponential(0) : p.toPrecision(2);
const times = (value) => Number(value.toPrecision(3));

function factor([before, after], words) {
  return `${times(Math.max(before, after) / Math.min(before, after))}x ${after > before ? words[0] : words[1]}`;
}
function sayNight(series, i) {
  const regime = series.level(i), unit = series.unit ? ` ${series.unit}` : "";
  const off = regime ? 100 * (series.values[i] / series.expected(regime, i) - 1) : 0;
  const commits = Object.entries(series.commits[i]).map(([name, commit]) => `${name} ${short(commit)}`.trim()).join(", ");
  const kind = series.outlying.has(i) ? "outlier, " : "";
  return `${moment(series.times[i])}: ${written(series.values[i])}${unit}, ${kind}${signed(off)} % off its level; ${commits || UNKNOWN}`;
}
function dates(series, [first, last]) {
  const [from, to] = [day(series.times[first]), day(series.times[last])];
  return from === to ? from : `${from} to ${to}`;
}
const effect = ([middle, low, high]) => `${signed(middle)} % (${signed(low)} to ${signed(high)})`;

function sayChange(series, change, level) {
  const confirmed = change.seen[0] >= change.seen[1] ? "confirmed" : `seen, not confirmed (${change.seen[0]} of ${change.seen[1]})`;
  const note = change.known ? `, acknowledged: ${change.known}` : "";
  return [badge(change.badge), ` From ${day(series.times[change.index])} on ${factor(change.levels, series.word)}: ` +
    `${effect(change.effect)}, p ${probability(change.p)}, ${confirmed}${note}. Interval of dates: ${dates(series, change.interval)} ` +
    `(${level} %); commits to inspect: ${series.commitRange(...change.interval)}`];
}
function changesTable(series, level) {
  const commits = ({ interval }) => make("span", { title: series.commitRange(...interval, (full) => full) }, series.commitRange(...interval));
  const rows = series.changes.map((change) => [badge(change.badge), day(series.times[change.index]), dates(series, change.interval),
    factor(change.levels, series.word), effect(change.effect), probability(change.p), commits(change), change.known ?? ""]);
  const heads = ["verdict", "from", `interval of dates (${level} %)`, "change>", `effect, ${level} % interval>`, "p>", "commits to inspect", "acknowledged"];
  if (!series.changes.some((change) => change.known)) for (const row of [heads, ...rows]) row.pop();
  return table(heads, rows.reverse());
}
