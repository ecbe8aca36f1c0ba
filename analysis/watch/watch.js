/* Asks the server of the page for frames, keeps and draws them. */

const MOST_FRAMES = 1200;
const profile = new Profile("profile"), ranks = new Ranks("ranks");
let head = null, frames = [], state = null, said = null, begun = 0, received = 0, drawing = false, over = false;

function mergeHalf() { // as the server does: old frames pair by pair
  const half = MOST_FRAMES / 2, old = frames.slice(0, half);
  const merged = old.filter((_, i) => i % 2).map((after, i) => {
    const before = old[2 * i];
    return { ...after, window_ns: before.window_ns + after.window_ns,
      phase_ns: after.phase_ns.map((ns, k) => ns + before.phase_ns[k]),
      heat: after.heat.map((share, k) => before.metric === after.metric ? Math.max(share, before.heat[k]) : share) };
  });
  frames = [...merged, ...frames.slice(half)];
}
function words() { // with the time on the viewer's clock
  const until = state.remaining_s > 0 && !state.end ? `, until ${new Date(Date.now() + state.remaining_s * 1000).toLocaleTimeString()}` : "";
  return said.progress + until;
}
function showPredictions() {
  byId("next").textContent = said.next;
  byId("predictions").replaceChildren(...said.predictions.length ? [table(["predictor", "next cycle>", "off in the last ten>"], said.predictions)] : []);
}
function draw() {
  drawing = false;
  const last = frames.at(-1);
  byId("progress").textContent = words();
  byId("ending").textContent = said.ending;
  byId("ending").hidden = !state.end;
  byId("bar").style.width = `${last ? Math.min(100, 100 * last.iteration / Math.max(state.total, 1)) : 0}%`;
  showPredictions();
  profile.key(head);
  profile.show(head, frames);
  ranks.show(head, frames);
  ranks.key(head, last);
  byId("hindmost").replaceChildren(
    table(["most work", "of the time>", "more than the mean, in all>"], said.stragglers),
    table(["in the last frame", "", "time>"], said.extrema));
  if (last) drawTimes(byId("times"), head, last);
  document.documentElement.dataset.frames = String(received);
}
function later() {
  if (!drawing && head) { drawing = true; requestAnimationFrame(draw); }
}
function link(text) { byId("link").textContent = text; }
async function poll() { // asks for the frames after the last one
  try {
    const answer = await fetch(`news?begun=${begun}&t_ns=${frames.at(-1)?.t_ns ?? 0}`);
    if (!answer.ok) throw new Error(answer.statusText);
    const news = await answer.json(), first = head === null;
    frames = news.begun === begun ? [...frames, ...news.frames] : news.frames;
    received += news.frames.length;
    ({ head, begun, state, said } = news);
    while (frames.length > MOST_FRAMES) mergeHalf();
    over = Boolean(state.end);
    link("");
    if (first) chosen();
    later();
  } catch {
    link("The page's server does not answer; the run is not touched by that. Trying again.");
  }
  if (!over) setTimeout(poll, 500);
}
poll();
function chosen() { // what the run does now, as another viewer may have asked
  const last = frames.at(-1);
  if (!last || !byId("period")) return;
  byId("period").selectedIndex = last.period;
  byId("metric").selectedIndex = last.metric;
}
function ask() {
  const content = { period_s: Number(byId("period").value), metric: byId("metric").value };
  byId("asked").textContent = "asking ...";
  fetch("control", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content) })
    .then((answer) => { byId("asked").textContent = answer.ok ? "asked; a frame or two until it shows" : "refused"; })
    .catch(() => { byId("asked").textContent = "the server does not answer"; });
}
for (const id of ["period", "metric"]) byId(id)?.addEventListener("change", ask);
window.addEventListener("resize", later);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", later);
window.addEventListener("appearance", later);
