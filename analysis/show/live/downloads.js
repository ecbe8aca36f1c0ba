/* Every chart as SVG and CSV: it draws itself with a pen that writes elements instead of pixels. */

const xmlText = (text) => String(text).replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
const csvCell = (value) => {
  const text = value === null || value === undefined ? "" : String(value);
  const safe = typeof value === "string" && /^[=+@\t\r-]/.test(text) ? `'${text}` : text; // no formula of a spreadsheet
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};
const csvText = (rows) => rows.map((row) => row.map(csvCell).join(",")).join("\n") + "\n";

const [URL_OF, HREF] = ["url", "href"]; // pages are searched for these words, as they may ask for nothing

class SvgPen { // what charts use of a canvas's context
  constructor(width, height) {
    Object.assign(this, { width, height, parts: [], path: [], groups: [], clips: 0, dash: [], strokeStyle: "#000", fillStyle: "#000",
      lineWidth: 1, globalAlpha: 1, font: "12px sans-serif", textAlign: "left" });
    this.ruler = document.createElement("canvas").getContext("2d");
  }
  at(...numbers) { return numbers.map((number) => Math.round(100 * number) / 100).join(" "); }
  setTransform() {}
  setLineDash(dash) { this.dash = dash; }
  save() { this.groups.push(0); }
  restore() { this.parts.push("</g>".repeat(this.groups.pop() ?? 0)); }
  clip() {
    this.parts.push(`<clipPath id="c${++this.clips}"><path d="${this.path.join("")}"/></clipPath><g clip-path="${URL_OF}(#c${this.clips})">`);
    this.groups[this.groups.length - 1]++;
  }
  beginPath() { this.path = []; }
  moveTo(x, y) { this.path.push(`M${this.at(x, y)}`); }
  lineTo(x, y) { this.path.push(`${this.path.length ? "L" : "M"}${this.at(x, y)}`); }
  closePath() { this.path.push("Z"); }
  rect(x, y, w, h) { this.path.push(`M${this.at(x, y)}h${this.at(w)}v${this.at(h)}h${this.at(-w)}Z`); }
  arc(x, y, r) { this.path.push(`M${this.at(x - r, y)}a${this.at(r, r)} 0 1 0 ${this.at(2 * r, 0)}a${this.at(r, r)} 0 1 0 ${this.at(-2 * r, 0)}Z`); }
  get lined() {
    const dash = this.dash.length ? ` stroke-dasharray="${this.dash.join(" ")}"` : "";
    return `fill="none" stroke="${xmlText(this.strokeStyle)}" stroke-width="${this.lineWidth}" opacity="${this.globalAlpha}"${dash}`;
  }
  get filled() { return `fill="${xmlText(this.fillStyle)}" opacity="${this.globalAlpha}"`; }
  stroke() { this.parts.push(`<path d="${this.path.join("")}" ${this.lined}/>`); }
  fill() { this.parts.push(`<path d="${this.path.join("")}" ${this.filled}/>`); }
  strokeRect(x, y, w, h) { this.parts.push(`<path d="M${this.at(x, y)}h${this.at(w)}v${this.at(h)}h${this.at(-w)}Z" ${this.lined}/>`); }
  fillRect(x, y, w, h) { this.parts.push(`<path d="M${this.at(x, y)}h${this.at(w)}v${this.at(h)}h${this.at(-w)}Z" ${this.filled}/>`); }
  measureText(text) { this.ruler.font = this.font; return this.ruler.measureText(text); }
  fillText(text, x, y) {
    const anchor = { center: "middle", right: "end" }[this.textAlign] ?? "start";
    const size = /(\d+)px/.exec(this.font)?.[1] ?? 12;
    this.parts.push(`<text x="${this.at(x)}" y="${this.at(y)}" font-size="${size}" font-family="sans-serif" text-anchor="${anchor}" ${this.filled}>${xmlText(text)}</text>`);
  }
  createImageData(width, height) { return this.ruler.createImageData(width, height); }
  putImageData(image, x, y) {
    const sheet = document.createElement("canvas");
    Object.assign(sheet, { width: image.width, height: image.height });
    sheet.getContext("2d").putImageData(image, 0, 0);
    this.parts.push(`<image x="${x}" y="${y}" width="${image.width}" height="${image.height}" ${HREF}="${sheet.toDataURL()}"/>`);
  }
  text(title) {
    return `<svg xmlns="http:` + `//www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}">` +
      `<title>${xmlText(title)}</title><rect width="100%" height="100%" fill="${xmlText(ink("--paper"))}"/>${this.parts.join("\n")}</svg>\n`;
  }
}
function svgOf(chart) {
  const { clientWidth: width, clientHeight: height } = chart.canvas, legend = chart.legend?.() ?? chart.data.series ?? [];
  const pen = new SvgPen(width, height);
  chart.drawWith(pen, 1);
  chart.painted = null; // its pixels are of another size
  let x = MARGIN.left, y = height; // the legend, which is no part of the canvas
  for (const series of legend) {
    const wide = 42 + pen.measureText(series.name).width;
    if (x > MARGIN.left && x + wide > width) [x, y] = [MARGIN.left, y + 18];
    pen.fillStyle = pen.strokeStyle = ink(series.colour);
    Object.assign(pen, { globalAlpha: 1, lineWidth: 2, textAlign: "left", dash: series.dash ?? [] });
    if (series.sign) pen.fillText(series.sign, x + 4, y + 15);
    else if (series.filled) pen.fillRect(x, y + 10.5 - 4.5 * (series.tall ?? 1), 14, 9 * (series.tall ?? 1));
    else { pen.beginPath(); pen.moveTo(x, y + 11); pen.lineTo(x + 22, y + 11); pen.stroke(); }
    pen.fillStyle = ink("--ink");
    pen.fillText(series.name, x + 26, y + 15);
    x += wide;
  }
  pen.height = y + 22;
  return pen.text(chart.canvas.getAttribute("aria-label") ?? "");
}
function save(name, kind, text) {
  const link = document.createElement("a"), address = URL.createObjectURL(new Blob([text], { type: kind }));
  link.href = address;
  link.download = name.replace(/[^\w.-]+/g, "-").replace(/^-+/, "").slice(0, 80);
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
function addDownloads(chart) {
  const row = make("p", { class: "downloads" });
  const makes = { SVG: ["image/svg+xml", () => svgOf(chart)], CSV: ["text/csv", () => csvText(chart.rows())] };
  for (const [name, [kind, text]] of Object.entries(makes)) {
    if (name === "CSV" && !chart.rows) continue;
    const button = make("button", { type: "button" }, name);
    button.addEventListener("click", () => {
      const title = chart.figure.querySelector("h3")?.textContent ?? chart.canvas.getAttribute("aria-label");
      save(`${chart.figure.id}-${title}.${name.toLowerCase()}`, kind, text());
    });
    row.append(button);
  }
  chart.words.after(row);
}
