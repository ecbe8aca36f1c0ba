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
    legend(figure, series.legend);
    chart.show(seriesContent(series));
    return chart;
  }
  show() {
    const { series } = this;
    byId("chosen-title").replaceChildren(badge(series.badge), ` ${series.text}`);
    this.chart.canvas.setAttribute("aria-label", series.summary);
    legend(byId("series-chart"), series.legend);
    this.chart.show(seriesContent(series));
    const changes = series.changes.map((change) => make("li", {}, ...sayChange(change))).reverse();
    byId("changes").replaceChildren(...changes.length ? changes : [make("li", {}, series.none)],
      ...series.remarks.map((text) => make("li", { class: "quiet" }, text)));
    byId("regimes").replaceChildren(...[...series.regimes].reverse().map(({ title, text }) =>
      make("article", { class: "regime" }, make("h4", {}, title), make("p", {}, text))));
    this.inRange();
  }
  inRange() { // all charts show the last days that were chosen
    const days = Number(this.range.value) || Infinity, from = this.matrix.show(days);
    for (const chart of [this.chart, ...this.leading]) chart.zoom(days < Infinity ? from : 0, days < Infinity ? chart.data.x.limits[1] : 0);
  }
  draw() {
    this.chart.draw();
    this.matrix.draw();
    for (const chart of this.leading) chart.draw();
  }
}
historyOf(byId("history")).then((all) => {
  new HistoryPage(all);
  document.documentElement.dataset.series = String(all.length);
});
