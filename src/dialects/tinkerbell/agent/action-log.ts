import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { Clock, Instant } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import { LogWriter, readLogs, removeLog } from "#kernel/streams/index.ts";
import { logRotation } from "../logs/places.ts";
import { writingFileOf } from "./places.ts";

const tail = { tailLines: 20, limitBytes: 64 * 1024 } as const;

export async function lastErrorLine(path: string, since: Instant): Promise<string> {
  const pieces: Uint8Array[] = [];
  try {
    for await (const piece of readLogs(path, { stream: "stderr", since, ...tail })) pieces.push(piece);
  } catch {
    return "";
  }
  const lines = Buffer.concat(pieces).toString("utf8").split("\n");
  return lines.findLast((line) => line.trim() !== "")?.trim() ?? "";
}

/** Empties the log and tells its readers to start again. */
export async function clearLog(path: string): Promise<void> {
  await removeLog(path);
  await writeFile(writingFileOf(path), randomUUID());
}

export async function remark(path: string, text: string, clock: Clock): Promise<void> {
  await makeDirectories(dirname(path), 0o750);
  const log = new LogWriter(path, { clock, rotation: logRotation });
  // Not on stderr, whose last line is used as the action's error message.
  log.append("stdout", Buffer.from(`slipway: ${text}\n`));
  await log.close();
}
