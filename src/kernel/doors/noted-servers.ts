// How programs of a user find the same user's servers. Any user can listen on a local port, so that an address proves
// nothing: a server writes a note with its address and token file into a private directory, where clients look.

import { isDead, type Owner, replaceFile, thisProcess } from "#lib/base/index.node.ts";
import { lstat, mkdir, readdir, readFile, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { hasCode, isJsonObject, type JsonValue, recover } from "#lib/base/index.ts";

export interface NotedServer {
  /** The word clients look it up by: `provisioner`. */
  readonly serves: string;
  /** For local programs: `http://127.0.0.1:5001`. */
  readonly url: string;
  /** Absolute. */
  readonly tokenFile: string;
  /** The listening process. */
  readonly owner: Owner;
}

const suffix = ".server.json";

/**
 * Writes a note into the first directory that is, or can become, private to this user. Returns a function that removes
 * it and never rejects; undefined without such a directory: clients must then be given the address and the token.
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

/** The noted servers whose processes are alive. Directories that are not private do not count. */
export async function notedServers(directories: readonly string[]): Promise<readonly NotedServer[]> {
  const found = await Promise.all(directories.map(async (directory) => [...(await notesIn(directory)).values()]));
  return found.flat().filter(isLiving);
}

/** The only server, or of several the one at the usual address; otherwise all candidates. */
export function meantOf(servers: readonly NotedServer[], usual: string): NotedServer | readonly NotedServer[] {
  const [first] = servers;
  if (first !== undefined && servers.every(({ url }) => url === first.url)) return first;
  return servers.find(({ url }) => url === usual) ?? servers;
}

/**
 * The server at a named address. `localhost` stands for any loopback address with this port; clients use the address of
 * the note, since another user may have the same port of another loopback address.
 */
export function notedAt(servers: readonly NotedServer[], named: string): NotedServer | undefined {
  if (!URL.canParse(named)) return undefined;
  const { origin, hostname: host, port } = new URL(named);
  if (host !== "localhost") return servers.find(({ url }) => url === origin);
  return servers
    .map((server) => ({ server, at: new URL(server.url) }))
    .find(({ at }) => at.port === port && (at.hostname.startsWith("127.") || at.hostname === "[::1]"))?.server;
}

/** Processes of other machines or containers with the same files are unknown here. */
const isLiving = ({ owner }: NotedServer): boolean => owner.host === hostname() && !isDead(owner);

/** By file. */
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

/** Removes notes of killed servers. */
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
 * Whether only this user can write to the directory. Links are not followed: in a shared directory a name proves
 * nothing. Creates it with `makes`.
 */
async function isOwn(directory: string, makes: boolean): Promise<boolean> {
  try {
    if (makes) await mkdir(directory, 0o700).catch(recover(hasCode("EEXIST"), undefined));
    const found = await lstat(directory);
    if (!found.isDirectory() || found.uid !== (process.getuid?.() ?? found.uid)) return false;
    return (found.mode & 0o077) === 0;
  } catch {
    return false;
  }
}

/** A wildcard address is reached by loopback. */
const reachable = (url: string): string => url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:");
