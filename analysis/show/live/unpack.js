/* What travels deflated, as text. */

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream);
}
const unlogged = (data, code) => code ? data.least * Math.exp((code - 1) * data.log_step) : 0;
async function shorts(text) {
  const plain = new DataView(await (await unpacked(text)).arrayBuffer());
  return Uint16Array.from({ length: plain.byteLength / 2 }, (_, i) => plain.getUint16(2 * i, true));
}
