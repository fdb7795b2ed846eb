import { readFile } from "node:fs/promises";
import { hasEnded, type ProcessIdentity } from "#lib/base/index.node.ts";
import { isJsonObject } from "#lib/base/index.ts";
import { parseJson } from "#lib/json/index.ts";

/** The process that a lock file names. */
export interface LockOwner extends ProcessIdentity {
  /** Where it serves; absent while it starts. */
  readonly url?: string;
}

/** Undefined for a text that is not a lock: such a file protects nothing. */
export function parseLockOwner(text: string): LockOwner | undefined {
  const read = parseJson(text);
  if (!read.ok || !isJsonObject(read.value)) return undefined;
  const { pid, startTicks, boot, url } = read.value;
  if (typeof pid !== "number") return undefined;
  return {
    pid,
    ...(typeof startTicks === "string" && typeof boot === "string" ? { startTicks, boot } : {}),
    ...(typeof url === "string" ? { url } : {}),
  };
}

/** The server that holds a data directory; undefined if none is running there. */
export async function serverOf(directory: string): Promise<LockOwner | undefined> {
  const text = await readFile(`${directory}/lock`, "utf8").catch(() => "");
  const owner = parseLockOwner(text);
  return owner === undefined || hasEnded(owner) ? undefined : owner;
}
