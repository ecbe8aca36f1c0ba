/* Asks the server of the page for news: words, tables, and the data of its charts. */

let have = "", state = null, said = null, over = false;

function showWords(news) { // with the time on the viewer's clock
  const until = state.remaining_s > 0 && !state.end ? `, until ${clock(Date.now() + state.remaining_s * 1000)}` : "";
  byId("progress").textContent = said.progress + until;
  byId("slowest").textContent = said.slowest;
  byId("ending").textContent = said.ending;
  byId("ending").hidden = !state.end;
  byId("bar").style.width = `${100 * news.done_share}%`;
  byId("next").textContent = said.next;
  byId("predictions").replaceChildren(...said.predictions.length ? [table(["predictor", "next cycle>", "off in the last ten>"], said.predictions)] : []);
  byId("hindmost").replaceChildren(
    table(["most work", "of the time>", "more than the mean, in all>"], said.stragglers),
    table(["in the last frame", "", "time>"], said.extrema));
}
async function showCharts(charts) {
  for (const [id, { data, legend }] of Object.entries(charts)) {
    const chart = LIVE.get(id);
    if (!chart) continue;
    chart.figure.querySelector(".legend").outerHTML = legend;
    chart.show(data, data.times ? await shorts(data.times) : null);
  }
}
function link(text) { byId("link").textContent = text; }
async function poll() { // asks for what is new
  try {
    const answer = await fetch(`news?have=${have}`);
    if (!answer.ok) throw new Error(answer.statusText);
    const news = await answer.json(), first = !have;
    ({ have, state, said } = news);
    over = Boolean(state.end);
    link("");
    showWords(news);
    if (news.charts) await showCharts(news.charts);
    if (first) chosen(news);
    document.documentElement.dataset.frames = String(news.frames);
  } catch {
    link("The page's server does not answer; the run is not touched by that. Trying again.");
  }
  if (!over) setTimeout(poll, 1000);
}
function chosen({ period, metric }) { // what the run does now, as another viewer may have asked
  if (period === null || !byId("period")) return;
  byId("period").selectedIndex = period;
  byId("metric").selectedIndex = metric;
}
function ask() {
  const content = { period_s: Number(byId("period").value), metric: byId("metric").value };
  byId("asked").textContent = "asking ...";
  fetch("control", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content) })
    .then((answer) => { byId("asked").textContent = answer.ok ? "asked; a frame or two until it shows" : "refused"; })
    .catch(() => { byId("asked").textContent = "the server does not answer"; });
}
for (const id of ["period", "metric"]) byId(id)?.addEventListener("change", ask);
STARTED.then(poll);
