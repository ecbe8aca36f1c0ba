/* The series of the page. Times are days since 1970, UTC. */

class NightlySeries {
  constructor(record, page) {
    Object.assign(this, record, page.calendars[record.calendar]);
    let minutes = 0;
    this.times = this.steps.map((step) => (minutes += step) / 1440);
    this.commits = this.commits.map((number) => page.commits[number]);
    this.outlying = new Set(this.outliers.flatMap(([start, stop]) => Array.from({ length: stop - start }, (_, i) => start + i)));
  }
  get newest() { return this.changes.length ? this.times[this.changes.at(-1).index] : -Infinity; }
  level(i) { // that of its regime: where it drifts, a straight line of the logarithm
    const regime = this.regimes.find(({ start, stop }) => start <= i && i < stop);
    if (!regime) return this.values[i];
    const [first, last] = regime.ends;
    return first * (last / first) ** ((i - regime.start) / Math.max(regime.stop - 1 - regime.start, 1));
  }
  say(i) {
    const kind = this.outlying.has(i) ? "outlier, " : "";
    return `${this.labels[i]}: ${quantityText(this.values[i], this.unit)}, ${kind}${percentText(this.values[i] / this.level(i) - 1, 1, "+")} off its level; ${this.commits[i]}`;
  }
}
const sayChange = (change) => [badge(change.badge), ` ${change.text}`];
async function historyOf(element) {
  const page = await (await unpacked(JSON.parse(element.textContent))).json();
  return page.series.map((record) => new NightlySeries(record, page));
}
