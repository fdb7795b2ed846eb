import { randomBytes } from "node:crypto";
import { link, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf, messageOf, SlipwayError } from "#lib/base/index.ts";
import { makeDirectories, refuseShared } from "#lib/base/index.node.ts";

/** In characters; servers accept longer headers. */
const longestToken = 4096;

/** A server's token, and its file for this user's programs. */
export interface ServerToken {
  readonly token: string;
  /** Absolute. */
  readonly file: string;
}

/**
 * The token of a server: from the named file, else from `auth-token` in its directory, created with a random token.
 * Rejects with `auth-token`, or with `insecure-permissions` for the server's own file.
 */
export async function serverToken(directory: string, named?: string, flag = ""): Promise<ServerToken> {
  if (named !== undefined) return { token: await readTokenFile(named, flag), file: named };
  const file = join(directory, "auth-token");
  await keptOnce(file, randomBytes(32).toString("base64url"));
  return { token: await readTokenFile(file, flag), file };
}

/**
 * Writes a secret unless the file is there already: of servers that start at the same time the first one's counts.
 * Rejects with `insecure-permissions` for a file that others may read.
 */
export async function keptOnce(file: string, secret: string): Promise<void> {
  await makeDirectories(dirname(file), 0o700);
  const next = `${file}.${randomBytes(6).toString("hex")}.next`;
  await writeFile(next, `${secret}\n`, { mode: 0o600 });
  try {
    await link(next, file);
  } catch (thrown) {
    if (codeOf(thrown) !== "EEXIST") throw thrown;
  } finally {
    await rm(next, { force: true });
  }
  await refuseShared(file);
}

/**
 * Reads a token, trimmed. Rejects with `auth-token` for an empty file or a token that does not fit into a header; the
 * message names `flag` and never quotes the file.
 */
export async function readTokenFile(file: string, flag: string): Promise<string> {
  const hint = `put a token into the file, or leave ${flag} out`;
  let text: string;
  try {
    text = (await readFile(file, "utf8")).trim();
  } catch (thrown) {
    throw new SlipwayError("auth-token", `${flag}: cannot read the token: ${messageOf(thrown)}`, {
      hint,
      cause: thrown,
    });
  }
  const problem = problemOf(text);
  if (problem !== undefined)
    throw new SlipwayError("auth-token", `${flag} ${file}: expected a token, found ${problem}`, { hint });
  return text;
}

function problemOf(text: string): string | undefined {
  if (text === "") return "nothing";
  if (text.length > longestToken) return `more than ${longestToken} characters`;
  if (/\s/.test(text)) return "several words or lines";
  return /^[\x21-\x7e]+$/.test(text) ? undefined : "characters other than visible ASCII";
}
