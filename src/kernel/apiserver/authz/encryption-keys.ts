import { readFile, realpath } from "node:fs/promises";
import { dirname, relative, resolve } from "node:path";
import { messageOf, SlipwayError } from "#lib/base/index.ts";
import { refuseShared } from "#lib/base/index.node.ts";
import { type SealingKey, sealingKey } from "../store/sealed-disk.ts";

const howTo = "make one with: (umask 077; openssl rand -base64 32 > FILE)";

/**
 * Reads the keys in a file: one per line, 32 bytes as base64; the first encrypts, all decrypt; empty lines and `#`
 * comments are ignored. To change the key, prepend a line and restart; then the old ones may go. Refuses files that
 * others can read or that are inside `dataDirectory`. Throws `encryption-key`, never with a part of a key.
 */
export async function readEncryptionKeys(file: string, dataDirectory: string): Promise<readonly SealingKey[]> {
  let text: string;
  try {
    await refuseShared(file);
    await refuseInside(file, dataDirectory);
    text = await readFile(file, "utf8");
  } catch (thrown) {
    if (thrown instanceof SlipwayError) throw thrown;
    throw refused(`the file with the encryption key cannot be read: ${messageOf(thrown)}`, thrown);
  }
  const lines = text.split("\n").map((line) => line.trim());
  const keys = lines.flatMap((line, index) =>
    line === "" || line.startsWith("#") ? [] : [readKey(line, file, index)],
  );
  if (keys.length === 0) throw refused(`${file} holds no key`);
  return keys;
}

function readKey(line: string, file: string, index: number): SealingKey {
  const bytes = Buffer.from(line, "base64");
  const isWhole = /^[A-Za-z0-9+/]{43}=$/.test(line) && bytes.length === 32;
  if (!isWhole) throw refused(`${file}:${index + 1}: expected a key of 32 bytes as base64`);
  return sealingKey(bytes);
}

async function refuseInside(file: string, dataDirectory: string): Promise<void> {
  const base = await realpath(dataDirectory).catch(() => resolve(dataDirectory));
  const path = relative(base, dirname(await realpath(file)));
  const isInside = path === "" || (!path.startsWith("..") && !path.startsWith("/"));
  if (isInside) throw refused(`${file} is inside the data directory: a copy of it would hold the key, too`);
}

const refused = (message: string, cause?: unknown): SlipwayError =>
  new SlipwayError("encryption-key", message, { hint: howTo, cause });
