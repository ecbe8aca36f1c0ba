/* Brings a history to life: what is chosen stands in the address, and all else follows from it. */

class HistoryPage {
  constructor(all) {
    this.all = all;
    this.byAddress = new Map(all.map((series) => [series.address, series]));
    this.chart = new DatedChart(byId("series-chart"));
    this.matrix = new Matrix(all, (series) => { this.go(series); byId("explorer").scrollIntoView(); });
    this.leading = [...document.querySelectorAll("figure[data-series]")].map((figure) => this.lead(figure));
    this.chosen = new Chooser("chosen", all, (series) => this.go(series));
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
    this.set(found ?? this.all.reduce((best, each) => each.newest > best.newest ? each : best));
    if (found) byId("explorer").scrollIntoView();
  }
  set(series) {
    this.series = series;
    this.chosen.set(series);
    this.show();
  }
  lead(figure) { // a chart of the first screen
    const chart = new DatedChart(figure), series = this.byAddress.get(figure.dataset.series);
    legend(figure, series.legend[1]);
    chart.show(seriesContent(series, 1));
    return chart;
  }
  show() {
    const { series } = this, level = Number(byId("level").value);
    byId("chosen-title").replaceChildren(badge(series.badge), ` ${series.text}`);
    this.chart.canvas.setAttribute("aria-label", series.summary);
    legend(byId("series-chart"), series.legend[level]);
    this.chart.show(seriesContent(series, level));
    const rows = series.changes.map((change) => [badge(change.badge), ...change.row]).reverse();
    byId("changes").replaceChildren(rows.length ? table(series.heads, rows) : make("p", {}, series.none),
      ...series.remarks.map((text) => make("p", { class: "quiet" }, text)));
    this.regimes = regimesPart(series, level);
    byId("regimes").replaceChildren(make("h3", {}, "Regimes, newest first"), this.regimes.element);
    this.regimes.draw();
    this.inRange();
  }
  inRange() { // all charts show the last days that were chosen
    const days = Number(this.range.value) || Infinity, from = this.matrix.show(days);
    for (const chart of [this.chart, ...this.leading]) chart.zoom(days < Infinity ? from : 0, days < Infinity ? chart.data.x.limits[1] : 0);
  }
  draw() {
    this.chart.draw();
    this.regimes.draw();
    this.matrix.draw();
    for (const chart of this.leading) chart.draw();
  }
}
historyOf(byId("history")).then((all) => {
  new HistoryPage(all);
  document.documentElement.dataset.series = String(all.length);
});
