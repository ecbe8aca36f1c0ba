/* Brings every chart of the page to life; where that fails, its picture stays. */

const LIVE = new Map(); // charts by the id of their figure

function fromAddress() {
  const found = /^#(chart-\d+)@([-+.e\d]+),([.\d]+)$/.exec(location.hash);
  if (!found || !LIVE.has(found[1])) return;
  document.getElementById(found[1]).scrollIntoView();
  LIVE.get(found[1]).point_at([Number(found[2]), Number(found[3])]);
}
async function begin(figure) {
  const data = JSON.parse(figure.querySelector("script").textContent);
  const codes = data.kind === "map" ? await shorts(data.times) : null;
  figure.classList.add("live"); // the canvas must have its size before it is drawn on
  const chart = data.kind === "map" ? new HeatMap(figure, data, codes) : new Curves(figure, data);
  chart.draw();
  LIVE.set(figure.id, chart);
}
const redraw = () => LIVE.forEach((chart) => chart.draw());
const figures = [...document.querySelectorAll("figure.chart")];
Promise.allSettled(figures.map((figure) => begin(figure).catch(() => figure.classList.remove("live")))).then(() => {
  fromAddress();
  window.addEventListener("hashchange", fromAddress);
  window.addEventListener("resize", redraw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  document.documentElement.dataset.charts = String(LIVE.size);
});
