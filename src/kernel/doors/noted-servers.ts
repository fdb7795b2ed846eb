// How programs of a user find the servers of the same user. An address alone does not say who answers there: any user of the machine can take it. A
// server therefore writes a note with its address and its token file into a directory that only its user can write to, and clients look there.

import { isDead, type Owner, replaceFile, thisProcess } from "#lib/base/index.node.ts";
import { lstat, mkdir, readdir, readFile, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { codeOf, isJsonObject, type JsonValue } from "#lib/base/index.ts";

/** A server, as its note describes it. */
export interface NotedServer {
  /** What it serves, in the word by which clients look it up: `provisioner`. */
  readonly serves: string;
  /** `http://127.0.0.1:5001`: how programs of this machine reach it. */
  readonly url: string;
  /** The file of the token that its clients present; absolute. */
  readonly tokenFile: string;
  /** The process that listens. The address is its own for as long as it lives. */
  readonly owner: Owner;
}

const suffix = ".server.json";

/**
 * Writes a note of a server of this process into the first of the directories that is, or can become, private to this user. Returns what removes the
 * note, which never rejects; undefined if there is no such directory: clients then have to be given the address and the token.
 */
export async function noteServer(
  directories: readonly string[],
  { serves, url, tokenFile }: Omit<NotedServer, "owner">,
): Promise<(() => Promise<void>) | undefined> {
  const note: NotedServer = { serves, url: reachable(url), tokenFile, owner: thisProcess() };
  for (const directory of directories) {
    const file = join(
      directory,
      `${serves}-${process.pid}-${new URL(url).host.replaceAll(/[^0-9a-z.]/gi, "_")}${suffix}`,
    );
    if ((await isOwn(directory, true)) && (await writeNote(file, note)))
      return async () => await rm(file, { force: true }).catch(() => undefined);
  }
  return undefined;
}

/** False if it cannot be written, mostly because the disk is full. */
async function writeNote(file: string, note: NotedServer): Promise<boolean> {
  try {
    await removeLeftovers(dirname(file));
    await replaceFile(file, JSON.stringify(note), { isDurable: false });
    return true;
  } catch {
    return false;
  }
}

/** The noted servers whose processes live, in no order. Notes in a directory that is not private to this user do not count. */
export async function notedServers(directories: readonly string[]): Promise<readonly NotedServer[]> {
  const found = await Promise.all(directories.map(async (directory) => [...(await notesIn(directory)).values()]));
  return found.flat().filter(isLiving);
}

/**
 * The server that is meant when none was named: the only one, or of several the one at the usual address. Otherwise all candidates, which may be none.
 */
export function meantOf(servers: readonly NotedServer[], usual: string): NotedServer | readonly NotedServer[] {
  const [first] = servers;
  if (first !== undefined && servers.every(({ url }) => url === first.url)) return first;
  return servers.find(({ url }) => url === usual) ?? servers;
}

/**
 * The server at an address that was named. `localhost` is any loopback address with this port: clients connect to the address of the note, since
 * another user may have the same port of another loopback address.
 */
export function notedAt(servers: readonly NotedServer[], named: string): NotedServer | undefined {
  if (!URL.canParse(named)) return undefined;
  const { origin, hostname: host, port } = new URL(named);
  if (host !== "localhost") return servers.find(({ url }) => url === origin);
  return servers
    .map((server) => ({ server, at: new URL(server.url) }))
    .find(({ at }) => at.port === port && (at.hostname.startsWith("127.") || at.hostname === "[::1]"))?.server;
}

/** The state of a process of another machine, or of a container with the same files, is unknown here. */
const isLiving = ({ owner }: NotedServer): boolean => owner.host === hostname() && !isDead(owner);

/** By their files, without files that are not notes. */
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

/** Removes the notes of servers that were killed. */
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
  if (!isJsonObject(note) || !isJsonObject(note["owner"]) || typeof note["owner"]["pid"] !== "number") return undefined;
  const isWhole = ["serves", "url", "tokenFile"].every((member) => typeof note[member] === "string");
  return isWhole ? (note as unknown as NotedServer) : undefined;
}

/**
 * Whether only this user can write to the directory. Links are not followed: in a directory that all users share, a name proves nothing. A missing
 * directory is created if `makes`.
 */
async function isOwn(directory: string, makes: boolean): Promise<boolean> {
  try {
    if (makes)
      await mkdir(directory, 0o700).catch((thrown: unknown) => {
        if (codeOf(thrown) !== "EEXIST") throw thrown;
      });
    const found = await lstat(directory);
    if (!found.isDirectory() || found.uid !== (process.getuid?.() ?? found.uid)) return false;
    return (found.mode & 0o077) === 0;
  } catch {
    return false;
  }
}

/** A server that listens on all addresses is reached by loopback. */
const reachable = (url: string): string => url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:");
