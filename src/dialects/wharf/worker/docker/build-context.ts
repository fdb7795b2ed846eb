import { randomBytes } from "node:crypto";
import { readTar, type TarMember } from "#kernel/artifacts/index.ts";
import type { RepositoryEntry } from "../../repository/repository.ts";
import { endOfArchive, headerOf, paddingOf } from "../../repository/tar-format.ts";
import type { BuildRequest } from "./build-request.ts";
import { type Ignores, readDockerIgnore } from "./docker-ignore.ts";
import { StepFailure } from "../step-failure.ts";

/** The directory of a build as the engine is sent it. */
export interface BuildContext {
  /** Path of the Dockerfile in it. */
  readonly dockerfile: string;
  readonly tar: AsyncIterable<Buffer>;
}

/** Of the two small files that decide about the others. */
const mostBytes = 4 * 1024 * 1024;

/**
 * Makes the build's directory from the archive of the repository, which is read twice: a Dockerfile and what is to be ignored may stand anywhere in
 * it. `change` is made to the Dockerfile. Rejects with a `StepFailure` when there is no Dockerfile.
 */
export async function buildContext(
  archive: () => AsyncIterable<Buffer>,
  { context, dockerfile }: BuildRequest,
  change: (dockerfile: string) => string,
): Promise<BuildContext> {
  const below = context === "." ? "" : `${context}/`;
  const ignoreFiles = [`${dockerfile}.dockerignore`, `${below}.dockerignore`];
  const texts = await textsOf(archive(), [dockerfile, ...ignoreFiles]);
  const text = texts.get(dockerfile);
  if (text === undefined) throw new StepFailure("ImageBuild", `there is no Dockerfile ${dockerfile} in the repository`);
  const ignored = ignoreFiles.map((path) => texts.get(path)).find((found) => found !== undefined) ?? "";
  const isInside = dockerfile.startsWith(below);
  // As the docker program does it: one from elsewhere has a name that nobody copies, because the engine is told to leave it out.
  const name = isInside ? dockerfile.slice(below.length) : `.dockerfile.${randomBytes(8).toString("hex")}`;
  const own = [
    file(name, change(text)),
    ...(isInside ? [] : [file(".dockerignore", `${ignored}\n${name}\n.dockerignore\n`)]),
  ];
  const isReplaced = new Set([name, ...(isInside ? [] : [".dockerignore"])]);
  return {
    dockerfile: name,
    tar: contextTar(archive(), below, { ignores: readDockerIgnore(ignored), isReplaced, own }),
  };
}

/** The last of a name counts: what is different for a step stands at the end. */
async function textsOf(archive: AsyncIterable<Buffer>, paths: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for await (const { path, type, size, body } of readTar(archive)) {
    if (type !== "file" || !paths.includes(path)) continue;
    if (size > mostBytes) throw new StepFailure("ImageBuild", `${path} is larger than ${mostBytes} bytes`);
    const chunks: Buffer[] = [];
    for await (const chunk of body) chunks.push(chunk);
    found.set(path, Buffer.concat(chunks).toString());
  }
  return found;
}

interface Choice {
  readonly ignores: Ignores;
  /** Paths of which `own` has others. */
  readonly isReplaced: ReadonlySet<string>;
  readonly own: readonly Buffer[];
}

async function* contextTar(
  archive: AsyncIterable<Buffer>,
  below: string,
  { ignores, isReplaced, own }: Choice,
): AsyncGenerator<Buffer, void> {
  for await (const member of readTar(archive)) {
    if (!member.path.startsWith(below)) continue;
    const path = member.path.slice(below.length);
    // The engine itself looks into this one, also where it says that nobody else shall.
    const isLeft = isReplaced.has(path) || (path !== ".dockerignore" && ignores(path));
    if (path !== "" && !isLeft) yield* memberBytes(path, member);
  }
  yield Buffer.concat([...own, endOfArchive]);
}

async function* memberBytes(path: string, member: TarMember): AsyncGenerator<Buffer, void> {
  const { type, mode, modified, size, target, body } = member;
  const kind = kinds[type];
  if (kind === undefined) return;
  yield headerOf({ path, kind, mode, modified, size, target });
  if (kind !== "file") return;
  yield* body;
  yield paddingOf(size);
}

/** What the archive of a repository is made of; there is nothing else in it. */
const kinds: Readonly<Partial<Record<TarMember["type"], RepositoryEntry["kind"]>>> = {
  file: "file",
  directory: "directory",
  symlink: "link",
};

function file(path: string, text: string): Buffer {
  const bytes = Buffer.from(text);
  const entry: RepositoryEntry = { path, kind: "file", mode: 0o644, modified: 0, size: bytes.length };
  return Buffer.concat([headerOf(entry), bytes, paddingOf(bytes.length)]);
}
