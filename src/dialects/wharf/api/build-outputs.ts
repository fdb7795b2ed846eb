import { createReadStream } from "node:fs";
import type { ArtifactStore } from "../artifact-store/artifact-store.ts";

// What a build hands on to whoever asked for it, such as the next steps of a Workflow: lines `name=value` of artifacts that are called outputs.env.
// They become part of the object, which every watcher is sent, so that there is little room for them.

/** The name of such an artifact: steps write it to $WHARF_ARTIFACTS_DIR. */
export const outputsFile = "outputs.env";

/** Of one file; the rest is not read. */
const mostFileBytes = 64 * 1024;
/** Of all files together. */
const [mostOutputs, mostCharacters] = [100, 16 * 1024];

/** What a build hands on, and what is missing of it, for people; undefined where all of it is there. */
export interface BuildOutputs {
  readonly outputs: Readonly<Record<string, string>>;
  readonly missing: string | undefined;
}

/** The outputs of a build, of all of its files; undefined where it has no such file. A later artifact wins over an earlier one. */
export async function outputsOf(
  artifacts: Pick<ArtifactStore, "list" | "pathOf">,
  buildId: number,
): Promise<BuildOutputs | undefined> {
  const files = artifacts
    .list(buildId)
    .filter(({ name }) => name === outputsFile || name.endsWith(`/${outputsFile}`))
    .toSorted((a, b) => a.artifactId - b.artifactId);
  if (files.length === 0) return undefined;
  const all = new Map<string, string>();
  for (const file of files)
    for (const [name, value] of readOutputs(await readStart(artifacts.pathOf(file)))) all.set(name, value);
  const outputs = bounded(all);
  const isCut = files.some(({ size }) => size > mostFileBytes);
  const left = [...all.keys()].filter((name) => !Object.hasOwn(outputs, name));
  return { outputs, missing: left.length > 0 || isCut ? missingOf(left, isCut) : undefined };
}

/** Lines `name=value` of a text; the last one of a name holds. Empty lines, comments and what is no such line are passed over. Pure. */
export function readOutputs(text: string): ReadonlyMap<string, string> {
  const lines = text.split("\n").flatMap((line) => {
    const [, name, value = ""] = /^([A-Za-z_][A-Za-z0-9_.-]{0,99})=(.*?)\r?$/.exec(line) ?? [];
    return name === undefined ? [] : [[name, value] as const];
  });
  return new Map(lines);
}

/** A sentence with the first names. */
function missingOf(left: readonly string[], isCut: boolean): string {
  const names = left.length === 0 ? "" : `, not ${left.slice(0, 5).join(", ")}${left.length > 5 ? ", …" : ""}`;
  const file = isCut ? `; what is behind ${mostFileBytes} bytes of a file is not read` : "";
  return `outputs: kept at most ${mostOutputs} of ${mostCharacters} characters together${names}${file}`;
}

/** As many as there is room for, the first ones. */
function bounded(all: ReadonlyMap<string, string>): Readonly<Record<string, string>> {
  let left = mostCharacters;
  const kept = [...all].slice(0, mostOutputs).filter(([name, value]) => {
    left -= name.length + value.length;
    return left >= 0;
  });
  return Object.fromEntries(kept);
}

async function readStart(path: string): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of createReadStream(path, { end: mostFileBytes - 1 })) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
