/* Asks the server of the page for news: words, and the data of its charts. */

let have = "", over = false;

function showWords({ progress, slowest, ending, left_s: left, done }) { // with the time on the viewer's clock
  const until = left > 0 && !over ? `, until ${clock(Date.now() + left * 1000)}` : "";
  byId("progress").textContent = progress + until;
  byId("slowest").textContent = slowest;
  byId("ending").textContent = ending;
  byId("ending").hidden = !over;
  byId("bar").parentElement.hidden = done === null;
  byId("bar").style.width = `${100 * done}%`;
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
async function ask() {
  const answer = await fetch(`news?have=${have}&phase=${byId("phase").value}`);
  if (!answer.ok) throw new Error(answer.statusText);
  const news = await answer.json();
  ({ have, over } = news);
  link("");
  showWords(news);
  if (news.charts) await showCharts(news.charts);
  document.documentElement.dataset.windows = String(news.windows);
}
async function poll() { // asks for what is new
  try {
    await ask();
  } catch {
    link("The page's server does not answer; the program is not touched by that. Trying again.");
  }
  if (!over) setTimeout(poll, 1000);
}
byId("phase").addEventListener("change", () => ask().catch(() => {}));
STARTED.then(poll);
