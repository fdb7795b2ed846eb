import { randomBytes } from "node:crypto";
import { link, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "#lib/base/index.ts";
import { makeDirectories, refuseShared } from "#lib/base/index.node.ts";
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
  await makeDirectories(directory, 0o700);
  const password = usesDefault ? wellKnownPassword : randomBytes(18).toString("base64url");
  const next = `${file}.${randomBytes(6).toString("hex")}.next`;
  await writeFile(next, `${firstUserName}:${password}\n`, { mode: 0o600 });
  try {
    // A server that started at the same time may have been faster: what is in the file counts.
    await link(next, file);
  } catch (thrown) {
    if (codeOf(thrown) !== "EEXIST") throw thrown;
  } finally {
    await rm(next, { force: true });
  }
  await refuseShared(file);
  const [name = firstUserName, ...rest] = (await readFile(file, "utf8")).trim().split(":");
  return { user: { name, password: rest.join(":") }, file };
}
