/* The series of the page, and their addresses. Times are days since 1970, UTC. */

class NightlySeries {
  constructor(record, page) {
    const calendar = page.calendars[record.calendar];
    Object.assign(this, record);
    this.text = [this.machine, this.case, bare(this.timer)].filter(Boolean).join(" · ");
    this.address = [this.machine, this.case, this.timer].map(encodeURIComponent).join("/");
    let minutes = 0;
    this.times = calendar.steps.map((step) => (minutes += step) / 1440);
    this.commits = calendar.commits.map((number) => page.commits[number]);
    this.outlying = new Set(this.outliers.flatMap(([start, stop]) => Array.from({ length: stop - start }, (_, i) => start + i)));
    this.logs = this.values.map(Math.log);
  }
  get newest() { return this.changes.length ? this.times[this.changes[this.changes.length - 1].index] : -Infinity; }
  get word() { return this.unit === "s" ? ["slower", "faster"] : ["larger", "smaller"]; }
  level(i) { return this.regimes.find((regime) => regime.start <= i && i < regime.stop); }
  inside(regime) {
    const places = Array.from({ length: regime.stop - regime.start }, (_, i) => regime.start + i);
    return places.filter((i) => !this.outlying.has(i)).map((i) => this.values[i]);
  }
  expected(regime, i) { // a trend is a straight line of the logarithm
    const trend = regime.trend && this.trends.find((each) => each.start <= i && i < each.stop);
    if (!trend || trend.stop - trend.start < 2) return regime.mean;
    const slope = Math.log1p(trend.effect[0] / 100) / (trend.stop - 1 - trend.start);
    return regime.mean * Math.exp(slope * (i - (regime.start + regime.stop - 1) / 2));
  }
  commitRange(first, last, shorten = short) { // after the night before `first`, up to the night `last`
    const before = this.commits[Math.max(first - 1, 0)], after = this.commits[last];
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
    if (!names.length) return UNKNOWN;
    const [old, now] = [before, after].map((parts) => names.map((name) => shorten(parts[name] ?? "unknown")));
    const told = names.map((name, i) => `${name} ${old[i] === now[i] ? now[i] : `${old[i]}..${now[i]}`}`.trim()).join(", ");
    return old.join() === now.join() ? `the same commits before and after (${told}): inspect the machine` : told;
  }
}
const UNKNOWN = "unknown commits";
const bare = (timer) => timer.replace(/[: ]+$/, ""); // some end with a colon
const short = (commit) => commit.replace(/[0-9a-f]{40}(?:[0-9a-f]{24})?/gi, (hash) => hash.slice(0, 12));
const day = (time) => new Date(Math.floor(time) * 864e5).toISOString().slice(0, 10);
const moment = (time) => {
  const text = new Date(Math.round(time * 1440) * 6e4).toISOString();
  return text.endsWith("T00:00:00.000Z") ? text.slice(0, 10) : text.slice(0, 16).replace("T", " ");
};
async function historyOf(element) {
  const page = await (await unpacked(JSON.parse(element.textContent))).json();
  return { level: page.level, series: page.series.map((record) => new NightlySeries(record, page)) };
}
