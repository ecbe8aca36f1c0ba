/* Elements of the page, made by scripts; their text is text, whatever it holds. */

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
const byId = (id) => document.getElementById(id);
const badge = (kind) => make("span", { class: `badge ${kind}` }, kind);

function table(heads, rows) { // a head that ends in ">" has its cells to the right
  const kind = heads.map((head) => head.endsWith(">") ? "right" : "left");
  const cells = (tag, each) => each.map((cell, i) => make(tag, { class: kind[i] }, typeof cell === "string" ? unbroken(cell) : cell));
  const head = make("tr", {}, ...cells("th", heads.map((each) => each.replace(/>$/, ""))));
  const body = rows.map((row) => row instanceof Element ? row : make("tr", {}, ...cells("td", row)));
  return make("div", { class: "scroll" }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)));
}
function sheet(canvas, width, height) { // a pen on a canvas of that size, in pixels of the page
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  return pen;
}
function legend(figure, entries) { // each a sign, its meaning and the class that colours it
  figure.querySelector(".legend").replaceChildren(...entries.map(([sign, text, kind]) =>
    make("li", { class: kind }, make("span", { "aria-hidden": "true" }, sign), ` ${text}`)));
}
