// Where servers of this machine's user are. An address alone does not say who answers there: whoever is on the machine can take a usual one. So a
// server notes where it listens in a directory that only its user can write to, and clients that were told no address look there.

import { createHash } from "node:crypto";
import { lstat, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { codeOf, isJsonObject, type JsonValue } from "#lib/base/index.ts";
import type { Owner } from "./results/build-document.ts";
import { isDead, thisProcess } from "./results/owner.ts";

/** What a client may look for. */
export type NotedService = "wharf-api" | "provisioner";

/** A server as its note tells of it. */
export interface NotedServer {
  readonly serves: NotedService;
  /** `http://127.0.0.1:5001`: how this machine reaches it. */
  readonly url: string;
  /** Of what it asks for, `digestOf`; absent where it answers everybody. The token itself is nowhere but in its file. */
  readonly tokenDigest?: string;
  /** The process that listens. Nobody else has the address for as long as it lives. */
  readonly owner: Owner;
}

/** What is noted of a token, as hexadecimal SHA-256. */
export const digestOf = (token: string): string => createHash("sha256").update(token).digest("hex");

const suffix = ".server.json";

/**
 * Notes a server of this process in the first of the directories that is, or can become, one of this user alone. Answers with what takes the note
 * back, which never rejects; undefined where there is no such directory, so that clients have to be told the address.
 */
export async function noteServer(
  directories: readonly string[],
  serves: NotedService,
  address: string,
  token: string | undefined,
): Promise<(() => Promise<void>) | undefined> {
  const digest = token === undefined ? {} : { tokenDigest: digestOf(token) };
  const note: NotedServer = { serves, url: `http://${reachable(address)}`, ...digest, owner: thisProcess() };
  for (const directory of directories) {
    const file = join(directory, `${serves}-${process.pid}-${address.replaceAll(/[^0-9a-z.]/gi, "_")}${suffix}`);
    if ((await isOwn(directory, true)) && (await writeNote(file, note)))
      return async () => await rm(file, { force: true }).catch(() => undefined);
  }
  return undefined;
}

/** False where it cannot be written: a server does without. */
async function writeNote(file: string, note: NotedServer): Promise<boolean> {
  try {
    await removeLeftovers(dirname(file));
    // Whole or not at all for who looks meanwhile.
    await writeFile(`${file}.next`, JSON.stringify(note), { mode: 0o600 });
    await rename(`${file}.next`, file);
    return true;
  } catch {
    // A full disk, mostly; clients have to be told the address then.
    return false;
  }
}

/** The servers that the notes tell of and whose processes live, in no order. A directory that is not this user's alone tells of none. */
export async function notedServers(directories: readonly string[]): Promise<readonly NotedServer[]> {
  const found = await Promise.all(directories.map(async (directory) => [...(await notesIn(directory)).values()]));
  return found.flat().filter(isLiving);
}

/**
 * The URL of the server that is meant where nobody has named one: the only one, of several the one at the usual address. Otherwise all that it could
 * be, which may be none.
 */
export function meantOf(servers: readonly NotedServer[], usual: string): string | readonly string[] {
  const urls = [...new Set(servers.map(({ url }) => url))];
  const [first] = urls;
  if (first !== undefined && urls.length === 1) return first;
  // As by whoever knows of one alone.
  return urls.includes(usual) ? usual : urls;
}

/** Of another machine, or of a container with the same files, nobody here can tell who has the address. */
const isLiving = ({ owner }: NotedServer): boolean => owner.host === hostname() && !isDead(owner);

/** By their files; what is no note is left out. */
async function notesIn(directory: string): Promise<ReadonlyMap<string, NotedServer>> {
  if (!(await isOwn(directory, false))) return new Map();
  const notes = new Map<string, NotedServer>();
  for (const name of await readdir(directory)) {
    const file = join(directory, name);
    const note = name.endsWith(suffix) ? parseNote(await readFile(file, "utf8").catch(() => "")) : undefined;
    if (note !== undefined) notes.set(file, note);
  }
  return notes;
}

/** Of servers that were killed. */
async function removeLeftovers(directory: string): Promise<void> {
  for (const [file, { owner }] of await notesIn(directory)) if (isDead(owner)) await rm(file, { force: true });
}

function parseNote(text: string): NotedServer | undefined {
  let note: JsonValue;
  try {
    note = JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
  if (!isJsonObject(note) || typeof note["url"] !== "string" || !isJsonObject(note["owner"])) return undefined;
  const { serves, tokenDigest, owner } = note;
  const isWhole = (serves === "wharf-api" || serves === "provisioner") && typeof owner["pid"] === "number";
  return isWhole && (tokenDigest === undefined || typeof tokenDigest === "string")
    ? (note as unknown as NotedServer)
    : undefined;
}

/**
 * Whether nobody else can write there. What is there is looked at without following it: in a directory of all users a name proves nothing. One that
 * is missing is made only for who `makes` it.
 */
async function isOwn(directory: string, makes: boolean): Promise<boolean> {
  try {
    if (makes)
      await mkdir(directory, 0o700).catch((thrown: unknown) => {
        if (codeOf(thrown) !== "EEXIST") throw thrown;
      });
    const found = await lstat(directory);
    if (!found.isDirectory() || found.uid !== (process.getuid?.() ?? found.uid)) return false;
    // Where others could write, they may have.
    return (found.mode & 0o077) === 0;
  } catch {
    // Not there, or not ours to look at.
    return false;
  }
}

/** All addresses of a machine are reached by its own. */
const reachable = (address: string): string =>
  address.replace(/^0\.0\.0\.0:/, "127.0.0.1:").replace(/^\[::\]:/, "[::1]:");
