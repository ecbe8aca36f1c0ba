/* Brings every chart of the page to life; where that fails, its picture stays. */

const LIVE = new Map(); // charts by the id of their figure

function fromAddress() {
  const found = /^(chart-\d+)(?:@([-+.e\d]+),([.\d]+)|=(.+))$/.exec(placeInAddress());
  if (!found || !LIVE.has(found[1])) return;
  const [, id, x, up, key] = found;
  document.getElementById(id).scrollIntoView();
  if (key) LIVE.get(id).choose?.(decodeURIComponent(key));
  else LIVE.get(id).point_at([Number(x), Number(up)]);
}
async function begin(figure) {
  const data = JSON.parse(figure.querySelector("script").textContent);
  const codes = data.times ? await shorts(data.times) : null;
  figure.classList.add("live"); // the canvas must have its size before it is drawn on
  const chart = new KINDS[data.kind](figure, data, codes);
  chart.draw();
  LIVE.set(figure.id, chart);
}
document.addEventListener("toggle", (event) => { // what was folded had no size
  LIVE.forEach((chart) => { if (event.target.contains(chart.figure)) chart.draw(); });
}, true);
const redraw = () => LIVE.forEach((chart) => chart.draw());
const figures = [...document.querySelectorAll("figure.chart[data-kind]")];
const STARTED = Promise.allSettled(figures.map((figure) => begin(figure).catch(() => figure.classList.remove("live")))).then(() => {
  LIVE.forEach((chart) => chart.lead?.());
  fromAddress();
  window.addEventListener("hashchange", fromAddress);
  window.addEventListener("resize", redraw);
  window.addEventListener("appearance", redraw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  document.documentElement.dataset.charts = String(LIVE.size);
});
