import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { keptOnce } from "#kernel/doors/index.ts";
import { firstUserName, wellKnownPassword } from "./messages.ts";
import type { FirstUser } from "./store/first-start.ts";

export interface FirstKey {
  readonly user: FirstUser;
  /** Absolute; holds `USER:PASSWORD`, the value of RS_KEY. */
  readonly file: string;
}

/** The account of a new server, kept for this user's programs. The password is random, or the well-known one. */
export async function firstKey(directory: string, usesDefault: boolean): Promise<FirstKey> {
  const file = join(directory, "rs-key");
  const made = usesDefault ? wellKnownPassword : randomBytes(18).toString("base64url");
  await keptOnce(file, `${firstUserName}:${made}`);
  const [name = firstUserName, ...rest] = (await readFile(file, "utf8")).trim().split(":");
  return { user: { name, password: rest.join(":") }, file };
}
