import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { err, type JsonObject, messageOf, objectAt, ok, type Result, textAt } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import { EgressRules, openHttp } from "#kernel/couriers/index.ts";
import type { Git } from "#kernel/git/index.ts";
import { withGit } from "./confined-git.ts";
import type { SourceScope, UseCaseParts } from "./parts.ts";
import { localPath, openRemote } from "./remote.ts";
import { readPacked, readTree, type SourceTree } from "./tree.ts";

export interface OpenedSource {
  readonly tree: SourceTree;
  /** Within the tree; empty for its root. */
  readonly folder: string;
}

/** Reads a Git repository, a local directory or a packed archive, and gives it to `use`, after which it is gone. */
export async function withSource<T>(
  input: JsonObject,
  scope: SourceScope,
  parts: UseCaseParts,
  use: (source: OpenedSource) => Promise<Result<T, string>>,
): Promise<Result<T, string>> {
  const source = textAt(input, "source") ?? textAt(input, "url") ?? "";
  const folder = (textAt(input, "path") ?? ".").replace(/^(?:\.?\/)+|\/+$/g, "").replace(/^\.$/, "");
  if (source === "") return err("source: expected a Git URL, a local path or the URL of a .tgz file, found nothing");
  if (folder.split("/").includes(".."))
    return err(`path: expected a folder inside the source, found ${JSON.stringify(folder)}`);
  await makeDirectories(parts.directory);
  const directory = await mkdtemp(join(parts.directory, "source-"));
  try {
    const tree = await open(source, input, directory, scope, parts);
    if (!tree.ok) return err(`source: ${tree.error}`);
    const isThere = folder === "" || [...tree.value.files.keys()].some((path) => path.startsWith(`${folder}/`));
    return isThere ? await use({ tree: tree.value, folder }) : err(`path: the source has no folder ${folder}`);
  } catch (thrown) {
    scope.signal.throwIfAborted();
    return err(`source: ${messageOf(thrown)}`);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function open(
  source: string,
  input: JsonObject,
  directory: string,
  scope: SourceScope,
  parts: UseCaseParts,
): Promise<Result<SourceTree, string>> {
  if (/^https?:.*\.(?:tgz|tar\.gz)(?:[?#].*)?$/i.test(source)) return download(source, scope, parts);
  const isPath = source.startsWith("/") && !source.endsWith(".git");
  const place = isPath ? await localPath(source, parts.localRoots ?? []) : undefined;
  if (place !== undefined && !place.ok) return place;
  if (place !== undefined) {
    const files = await readTree(place.value);
    return files.ok ? ok({ files: files.value, directory: place.value }) : files;
  }
  return checkOut(source, input, directory, scope, parts);
}

async function checkOut(
  source: string,
  input: JsonObject,
  directory: string,
  scope: SourceScope,
  parts: UseCaseParts,
): Promise<Result<SourceTree, string>> {
  const remote = await openRemote(source, objectAt(input, "credentials"), directory, scope, parts);
  if (!remote.ok) return remote;
  const ref = textAt(input, "ref") ?? textAt(input, "version") ?? "HEAD";
  if (!/^\w[\w./-]*$/.test(ref)) return err(`ref: expected a branch, tag or commit, found ${JSON.stringify(ref)}`);
  const work = join(directory, "work");
  await makeDirectories(work);
  return withGit(work, remote.value, scope, parts, (git) => fetchInto(work, remote.value.source.url, ref, git));
}

async function fetchInto(work: string, url: string, ref: string, git: Git): Promise<Result<SourceTree, string>> {
  for (const words of [
    ["init", "--quiet"],
    ["fetch", "--quiet", "--depth=1", "--no-tags", "--", url, ref],
    ["checkout", "--quiet", "--detach", "FETCH_HEAD"],
  ]) {
    const done = await git(...words);
    if (!done.ok) return err(`git ${words[0]}: ${done.error.message}`);
  }
  const [files, head] = [await readTree(work), await git("rev-parse", "HEAD")];
  if (!files.ok) return files;
  return ok({ files: files.value, directory: work, ...(head.ok ? { commit: head.value.trim() } : {}) });
}

const mostPacked = 32 * 1024 * 1024;
const patience = 60_000;

async function download(
  source: string,
  { signal }: SourceScope,
  parts: UseCaseParts,
): Promise<Result<SourceTree, string>> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(patience)]);
  const response = await openHttp(source, parts.egress ?? new EgressRules([]), limit);
  const { statusCode = 0 } = response;
  if (statusCode === 200) return ok({ files: await readPacked(limited(response)) });
  response.destroy();
  return err(`${new URL(source).origin} answered ${statusCode}`);
}

async function* limited(chunks: AsyncIterable<unknown>): AsyncGenerator<Buffer, void> {
  let size = 0;
  for await (const chunk of chunks) {
    if (!(chunk instanceof Uint8Array)) continue;
    if ((size += chunk.length) > mostPacked) throw new Error(`the archive is over ${mostPacked / 1024 / 1024} MiB`);
    yield Buffer.from(chunk);
  }
}
