/* Brings a history to life: what is chosen stands in the address, and all else follows from it. */

class HistoryPage {
  constructor(page) {
    this.page = page;
    this.byAddress = new Map(page.series.map((series) => [series.address, series]));
    this.chart = new DatedChart(byId("series-chart"));
    this.matrix = new Matrix(page, (series) => { this.go(series); byId("explorer").scrollIntoView(); });
    this.leading = [...document.querySelectorAll("figure[data-series]")].map((figure) => this.lead(figure));
    this.chosen = new Chooser("chosen", page.series, (series) => this.go(series));
    this.range = byId("range");
    this.range.value = chosenInAddress().get("range") ?? "";
    this.range.addEventListener("change", () => { choose("range", this.range.value); this.inRange(); });
    byId("level").addEventListener("change", () => this.show());
    window.addEventListener("hashchange", () => this.follow(true));
    window.addEventListener("resize", () => this.draw());
    for (const event of ["beforeprint", "afterprint"]) window.addEventListener(event, () => this.draw());
    matchMedia("print").addEventListener("change", () => this.draw()); // with the colours and sizes of paper
    window.addEventListener("appearance", () => this.draw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target.closest("input, select")) return;
      event.preventDefault();
      byId("chosen-search").focus();
    });
    this.follow(false);
    this.matrix.draw();
  }
  go(series) {
    setAddress([series.address, ...inAddress().slice(1)]);
    this.set(series);
  }
  follow(called) {
    const found = this.byAddress.get(location.hash.replace(/^#/, "").split("&")[0]);
    if (called && !found) return;
    this.set(found ?? this.page.series.reduce((best, each) => each.newest > best.newest ? each : best));
    if (found) byId("explorer").scrollIntoView();
  }
  set(series) {
    this.series = series;
    this.chosen.set(series);
    this.show();
  }
  lead(figure) { // a chart of the first screen
    const chart = new DatedChart(figure), series = this.byAddress.get(figure.dataset.series);
    seriesLegend(figure, series, 1, this.page);
    chart.show(seriesContent(series, 1, this.page));
    return chart;
  }
  show() {
    const { series, page } = this, level = Number(byId("level").value);
    byId("chosen-title").replaceChildren(badge(series.badge), ` ${series.text}`);
    this.chart.canvas.setAttribute("aria-label", `${series.text}, ${series.values.length} nights, ${series.changes.length} changes`);
    seriesLegend(byId("series-chart"), series, level, page);
    this.chart.show(seriesContent(series, level, page));
    const none = series.too_short ? `Too short to judge: at least ${series.too_short} nights are needed.` :
      `No step up to ${day(series.times[series.times.length - 1])}.`;
    byId("changes").replaceChildren(series.changes.length ? changesTable(series, page.level) : make("p", {}, none), ...this.remarks(series));
    this.regimes = regimesPart(series, level);
    byId("regimes").replaceChildren(make("h3", {}, "Regimes, newest first"), this.regimes.element);
    this.regimes.draw();
    this.inRange();
  }
  inRange() { // all charts show the last days that were chosen
    const days = Number(this.range.value) || Infinity, from = this.matrix.show(days);
    for (const chart of [this.chart, ...this.leading]) chart.zoom(days < Infinity ? from : 0, days < Infinity ? chart.data.x.limits[1] : 0);
  }
  remarks(series) {
    const drifts = series.trends.map((trend) => make("p", {}, `Drifts by ${effect(trend.effect)} in ${dates(series, [trend.start, trend.stop - 1])}, p ${probability(trend.p)}.`));
    return [...drifts, ...series.log.map((text) => make("p", { class: "quiet" }, text))];
  }
  draw() {
    this.chart.draw();
    this.regimes.draw();
    this.matrix.draw();
    for (const chart of this.leading) chart.draw();
  }
}
historyOf(byId("history")).then((page) => {
  new HistoryPage(page);
  document.documentElement.dataset.series = String(page.series.length);
});
