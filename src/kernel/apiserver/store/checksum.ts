import { crc32 } from "node:zlib";

/** Of a checksum, which follows what it is of. */
export const checksumBytes = 4;

/** CRC-32 of several pieces: it finds every change within 32 neighbouring bits, whatever they say. */
export const checksum = (...pieces: readonly Buffer[]): number => pieces.reduce((sum, piece) => crc32(piece, sum), 0);

/** A row's value as it is stored: with a checksum of it and of its key, so that neither can pass for another one's. */
export function sealRow(key: Buffer, value: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(value.length + checksumBytes);
  bytes.set(value);
  bytes.writeUInt32BE(checksum(key, value), value.length);
  return bytes;
}

/** The value that was sealed, a view; undefined when its bytes, or those of its key, are not what they were. */
export function openRow(key: Buffer, bytes: Buffer): Buffer | undefined {
  const end = bytes.length - checksumBytes;
  if (end < 0) return undefined;
  const value = bytes.subarray(0, end);
  return bytes.readUInt32BE(end) === checksum(key, value) ? value : undefined;
}
