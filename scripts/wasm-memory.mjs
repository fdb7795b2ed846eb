// Limits the memory of a WebAssembly module: Go's linker declares how much there is at the start, and no end.

const memorySection = 5;
const pageBytes = 64 * 1024;

/** The same module, whose one memory may grow to so many MB and no further. */
export function limitMemory(wasm, maxMb) {
  const { start, bodyStart, end } = sectionOf(wasm, memorySection);
  const [count, flagsAt] = readNumber(wasm, bodyStart);
  const flags = wasm[flagsAt];
  const [minPages, after] = readNumber(wasm, flagsAt + 1);
  if (count !== 1 || flags !== 0 || after !== end) throw new Error("expected one memory without a maximum");
  const maxPages = (maxMb * 1024 * 1024) / pageBytes;
  if (minPages > maxPages) throw new Error(`the module begins with ${minPages} pages, more than ${maxPages}`);
  const body = Buffer.from([1, 1, ...numberBytes(minPages), ...numberBytes(maxPages)]);
  const section = Buffer.concat([Buffer.from([memorySection, ...numberBytes(body.length)]), body]);
  return Buffer.concat([wasm.subarray(0, start), section, wasm.subarray(end)]);
}

/** Sections follow the eight bytes of magic number and version: id, length, body. */
function sectionOf(wasm, wanted) {
  for (let start = 8; start < wasm.length; ) {
    const [length, bodyStart] = readNumber(wasm, start + 1);
    if (wasm[start] === wanted) return { start, bodyStart, end: bodyStart + length };
    start = bodyStart + length;
  }
  throw new Error(`there is no section ${wanted}`);
}

/** LEB128: seven bits a byte, the lowest first; returns the number and where it ends. */
function readNumber(bytes, at) {
  let value = 0;
  for (let shift = 0; ; shift += 7, at++) {
    value += (bytes[at] & 0x7f) * 2 ** shift;
    if (bytes[at] < 0x80) return [value, at + 1];
  }
}

function numberBytes(value) {
  const bytes = [];
  for (; value >= 0x80; value = Math.floor(value / 0x80)) bytes.push((value % 0x80) | 0x80);
  return [...bytes, value];
}
