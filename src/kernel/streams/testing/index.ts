import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readLogs, type ReadLogsOptions } from "../read-logs.ts";

/** Runs `use` with a directory of its own, removed afterwards. */
export async function withDirectory<T>(use: (directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), "slipway-logs-"));
  try {
    return await use(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** A whole log as text, byte for byte. */
export async function textOf(path: string, options?: ReadLogsOptions): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of readLogs(path, options)) pieces.push(piece);
  return Buffer.concat(pieces).toString("latin1");
}
