import { crc32 } from "node:zlib";

export const checksumBytes = 4;

/** CRC-32 of several pieces. */
export const checksum = (...pieces: readonly Buffer[]): number => pieces.reduce((sum, piece) => crc32(piece, sum), 0);

/** The checksum covers key and value, so that no row is valid under another key. */
export function sealRow(key: Buffer, value: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(value.length + checksumBytes);
  bytes.set(value);
  bytes.writeUInt32BE(checksum(key, value), value.length);
  return bytes;
}

/** A view; undefined for a wrong checksum. */
export function openRow(key: Buffer, bytes: Buffer): Buffer | undefined {
  const end = bytes.length - checksumBytes;
  if (end < 0) return undefined;
  const value = bytes.subarray(0, end);
  return bytes.readUInt32BE(end) === checksum(key, value) ? value : undefined;
}
