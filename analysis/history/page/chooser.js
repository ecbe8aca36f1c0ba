/* Chooses a series: by machine, case and timer, or by words of its name. */

const MOST_FOUND = 12;

class Chooser {
  constructor(name, all, chosen) {
    Object.assign(this, { all, chosen, series: null, found: [], at: 0 });
    this.selects = ["machine", "case", "timer"].map((key) => byId(`${name}-${key}`));
    this.input = byId(`${name}-search`);
    this.list = byId(`${name}-list`);
    this.selects.forEach((select, i) => select.addEventListener("change", () => this.narrowed(i)));
    this.input.addEventListener("input", () => this.search());
    this.input.addEventListener("focus", () => this.search());
    this.input.addEventListener("blur", () => this.close());
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.fill();
  }
  keys(series) { return [series.machine, series.case, series.timer]; }
  fill() { // each list holds what goes with the choices before it
    const chosen = this.series && this.keys(this.series);
    this.selects.forEach((select, i) => {
      const fitting = this.all.filter((each) => !chosen || this.keys(each).slice(0, i).every((key, k) => key === chosen[k]));
      const words = [...new Set(fitting.map((each) => this.keys(each)[i]))];
      const options = words.map((word) => make("option", { value: word }, word.replace(/[: ]+$/, "") || "(none)"));
      if (!chosen) options.unshift(make("option", { value: "" }, "choose"));
      select.replaceChildren(...options);
      select.value = chosen ? chosen[i] : "";
    });
  }
  set(series) {
    this.series = series;
    this.fill();
  }
  narrowed(changed) { // keep as many of the later choices as there are
    const model = this.series, value = this.selects[changed].value;
    const wanted = (model ? this.keys(model) : ["", "", ""]).map((key, i) => i === changed ? value : key);
    const agreeing = (each) => this.keys(each).filter((key, i) => key === wanted[i]).length;
    const fitting = this.all.filter((each) => this.keys(each)[changed] === wanted[changed] &&
      (!this.series || this.keys(each).slice(0, changed).every((key, i) => key === wanted[i])));
    if (fitting.length) this.chosen(fitting.reduce((best, each) => agreeing(each) > agreeing(best) ? each : best));
  }
  search() {
    const words = this.input.value.toLowerCase().split(/\s+/).filter(Boolean);
    this.found = this.all.filter((each) => words.every((word) => each.text.toLowerCase().includes(word)));
    this.at = 0;
    const more = this.found.length - MOST_FOUND;
    this.found = this.found.slice(0, MOST_FOUND);
    const options = this.found.map((each, i) => {
      const option = make("li", { role: "option", id: `${this.list.id}-${i}` }, badge(each.badge), ` ${each.text}`);
      option.addEventListener("pointerdown", (event) => { event.preventDefault(); this.take(i); });
      return option;
    });
    if (more > 0) options.push(make("li", { class: "quiet" }, `and ${more} more`));
    if (!this.found.length) options.push(make("li", { class: "quiet" }, "no series matches"));
    this.list.replaceChildren(...options);
    this.list.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
    this.point();
  }
  point() {
    [...this.list.querySelectorAll("[role=option]")].forEach((option, i) => option.setAttribute("aria-selected", String(i === this.at)));
    this.input.setAttribute("aria-activedescendant", this.found.length ? `${this.list.id}-${this.at}` : "");
  }
  close() {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
  }
  take(i) {
    const series = this.found[i];
    if (!series) return;
    this.input.value = "";
    this.input.blur();
    this.chosen(series);
  }
  key(event) {
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in steps) {
      this.at = clamp(this.at + steps[event.key], 0, Math.max(0, this.found.length - 1));
      this.point();
    } else if (event.key === "Enter") this.take(this.at);
    else if (event.key === "Escape") this.input.blur();
    else return;
    event.preventDefault();
  }
}
