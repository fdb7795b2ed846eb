// CRC-32C (Castagnoli, RFC 3720 appendix B.4), eight bytes at a time with one table per position.

const polynomial = 0x82f63b78;
const places = 8;
const table = new Int32Array(places * 256);

for (let byte = 0; byte < 256; byte++) {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = (value & 1) === 1 ? (value >>> 1) ^ polynomial : value >>> 1;
  table[byte] = value;
}
for (let byte = 0; byte < 256; byte++) {
  let value = table[byte] ?? 0;
  for (let place = 1; place < places; place++) {
    value = (table[value & 255] ?? 0) ^ (value >>> 8);
    table[place * 256 + byte] = value;
  }
}

export function crc32c(bytes: Uint8Array, from = 0, to = bytes.length): number {
  const at = (index: number): number => table[index] ?? 0;
  let crc = -1;
  let next = from;
  for (; next + places <= to; next += places) {
    const low = crc ^ word(bytes, next);
    const high = word(bytes, next + 4);
    crc =
      at(1792 + (low & 255)) ^
      at(1536 + ((low >>> 8) & 255)) ^
      at(1280 + ((low >>> 16) & 255)) ^
      at(1024 + (low >>> 24)) ^
      at(768 + (high & 255)) ^
      at(512 + ((high >>> 8) & 255)) ^
      at(256 + ((high >>> 16) & 255)) ^
      at(high >>> 24);
  }
  for (; next < to; next++) crc = at((crc ^ (bytes[next] ?? 0)) & 255) ^ (crc >>> 8);
  return ~crc >>> 0;
}

const word = (bytes: Uint8Array, at: number): number =>
  (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24);
