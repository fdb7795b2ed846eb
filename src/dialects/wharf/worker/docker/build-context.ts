import { posix } from "node:path";
import { randomBytes } from "node:crypto";
import { readTar, type TarMember } from "#kernel/artifacts/index.ts";
import type { RepositoryEntry } from "../../repository/entry.ts";
import { endOfArchive, headerOf, paddingOf } from "../../repository/tar-format.ts";
import type { BuildRequest } from "./build-request.ts";
import { StepFailure } from "../step-failure.ts";

interface BuildContext {
  readonly dockerfile: string;
  readonly tar: AsyncIterable<Buffer>;
}

const mostBytes = 4 * 1024 * 1024;

/** Creates the build context from the archive of the repository, which is read twice because Dockerfile and ignore file
 * may be anywhere in it. Rejects with `StepFailure` without a Dockerfile. */
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
  // As docker does: a Dockerfile outside of the context gets a random, ignored name.
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
    // The engine itself reads this file, even if it is ignored.
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

// `.dockerignore` is applied by the client: Go's path patterns with `**`, of which the last match decides.

type Ignores = (path: string) => boolean;

interface Pattern {
  readonly form: RegExp;
  readonly isException: boolean;
}

export function readDockerIgnore(text: string): Ignores {
  const patterns = text
    .replace(/^\ufeff/, "")
    .split(/\r?\n/)
    .filter((line) => !line.startsWith("#"))
    .map((line) => line.trim())
    .filter((line) => line !== "" && line !== "!")
    .flatMap(patternOf);
  return (path) => {
    const above = path.split("/").map((_, index, parts) => parts.slice(0, index + 1).join("/"));
    let isIgnored = false;
    for (const { form, isException } of patterns)
      if (isException === isIgnored && above.some((one) => form.test(one))) isIgnored = !isException;
    return isIgnored;
  };
}

function patternOf(line: string): readonly Pattern[] {
  const isException = line.startsWith("!");
  const path = posix.join("/", isException ? line.slice(1).trim() : line).replace(/(?!^)\/$/, "");
  try {
    return [{ form: new RegExp(`^${formOf(path.slice(1))}$`, "su"), isException }];
  } catch {
    // An unclosed class, which Go rejects too.
    return [];
  }
}

const formOf = (pattern: string): string =>
  pattern.replaceAll(/\*\*\/?|\*|\?|\[(?:\\.|[^\]\\])*\]|\\.|[^*?[\\]/gsu, (part) => {
    if (part === "**/") return "(?:.*/)?";
    if (part === "**") return ".*";
    if (part === "*") return "[^/]*";
    if (part === "?") return "[^/]";
    if (part.length > 1) return part.startsWith("[") ? part : escaped(part.slice(1));
    return escaped(part);
  });

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\/-]/g, String.raw`\$&`);
