/* The frame of the page: contents that follow, filters, colours, keys. What is chosen stands in the address. */

{
const FACETS = ["run", "workload", "solver", "ranks"];
const sections = [...document.querySelectorAll("main section[id]")];
const entries = new Map([...document.querySelectorAll("#rail ol > li")].map((item) => [item.querySelector("a").hash.slice(1), item]));
const facetsOf = (section) => JSON.parse(section.dataset.facets ?? "{}");
const named = (id) => document.getElementById(id);

function values(facet) {
  return [...new Set(sections.map((section) => facetsOf(section)[facet]).filter(Boolean))].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
}
function filters() {
  const rows = FACETS.map((facet) => [facet, values(facet)]).filter(([, found]) => found.length > 1);
  named("filters").hidden = !rows.length;
  named("filters").replaceChildren(...rows.map(([facet, found]) => {
    const select = document.createElement("select"), label = document.createElement("label");
    select.id = `filter-${facet}`;
    select.append(...["", ...found].map((value) => new Option(value || "all", value)));
    select.addEventListener("change", () => { choose(facet, select.value); apply(); });
    label.append(facet, select);
    return label;
  }), document.createElement("output"));
}
function apply() {
  const chosen = chosenInAddress();
  document.documentElement.dataset.theme = chosen.get("theme") ?? "";
  named("theme").value = chosen.get("theme") ?? "";
  let hidden = 0;
  const gone = new Set();
  for (const section of sections) {
    const facets = facetsOf(section);
    const out = Object.entries(facets).some(([facet, value]) => chosen.has(facet) && chosen.get(facet) !== value);
    section.hidden = out;
    entries.get(section.id)?.classList.toggle("left-out", out);
    if (out) { hidden++; gone.add(facets.run); }
  }
  for (const each of document.querySelectorAll("[data-of]")) each.hidden = gone.has(each.dataset.of);
  for (const facet of FACETS) if (named(`filter-${facet}`)) named(`filter-${facet}`).value = chosen.get(facet) ?? "";
  const words = named("filters").querySelector("output");
  if (words) words.textContent = hidden ? `${hidden} sections left out` : "";
  window.dispatchEvent(new Event("appearance"));
}
function visit() {
  const target = named(placeInAddress().split(/[@=]/)[0]);
  if (!target) return;
  target.closest("section[hidden]")?.removeAttribute("hidden");
  for (let at = target.closest("details"); at; at = at.parentElement.closest("details")) at.open = true;
  target.scrollIntoView();
}
let current = null;
function follow() {
  const shown = sections.filter((section) => !section.hidden);
  const at = shown.findLast((section) => section.getBoundingClientRect().top < innerHeight / 3) ?? shown[0];
  if (at === current) return;
  current = at;
  entries.forEach((item, id) => item.classList.toggle("current", id === at?.id));
}
function step(by) {
  const shown = sections.filter((section) => !section.hidden && entries.has(section.id));
  const top = (section) => section.getBoundingClientRect().top;
  const asked = shown.findIndex((section) => section.id === placeInAddress()); // the last ones may not reach the top
  const at = asked >= 0 && top(shown[asked]) > -24 && top(shown[asked]) < innerHeight ? asked : shown.findLastIndex((section) => top(section) < 24);
  const next = shown[Math.min(Math.max(at + by, 0), shown.length - 1)];
  if (next) goTo(next.id);
}
function theme() {
  const dark = document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  choose("theme", dark === "dark" ? "light" : "dark");
  apply();
}
const DOES = { j: () => step(1), k: () => step(-1), t: theme, f: () => named("filters").querySelector("select")?.focus(),
  c: () => { named("contents").open = true; named("contents").querySelector("a")?.focus(); } };
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
  if (Object.hasOwn(DOES, event.key)) { event.preventDefault(); DOES[event.key](); }
});
document.addEventListener("click", (event) => { // a link within the page keeps what is chosen
  const link = event.target.closest("a[href^='#']");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  const place = link.getAttribute("href");
  if (withChosen(place) === location.hash) visit();
  else goTo(place);
});
named("theme").addEventListener("change", (event) => { choose("theme", event.target.value); apply(); });
window.addEventListener("hashchange", () => { apply(); visit(); follow(); });
window.addEventListener("scroll", follow, { passive: true });
if (matchMedia("(max-width: 52rem)").matches) named("contents").open = false;
filters();
apply();
if (placeInAddress()) visit();
follow();
}
