import { createReadStream } from "node:fs";
import type { ArtifactStore } from "../artifact-store/artifact-store.ts";

// Outputs become part of the object, which is sent to every watcher, so they are bounded.

export const outputsFile = "outputs.env";

const mostFileBytes = 64 * 1024;
const [mostOutputs, mostCharacters] = [100, 16 * 1024];

export interface BuildOutputs {
  readonly outputs: Readonly<Record<string, string>>;
  readonly missing: string | undefined;
}

/** Lines `name=value` of all artifacts named outputs.env; later artifacts win. Undefined without such a file. */
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

/** The last line of a name wins; other lines are ignored. Pure. */
export function readOutputs(text: string): ReadonlyMap<string, string> {
  const lines = text.split("\n").flatMap((line) => {
    const [, name, value = ""] = /^([A-Za-z_][A-Za-z0-9_.-]{0,99})=(.*?)\r?$/.exec(line) ?? [];
    return name === undefined ? [] : [[name, value] as const];
  });
  return new Map(lines);
}

function missingOf(left: readonly string[], isCut: boolean): string {
  const names = left.length === 0 ? "" : `, not ${left.slice(0, 5).join(", ")}${left.length > 5 ? ", …" : ""}`;
  const file = isCut ? `; files are read up to ${mostFileBytes} bytes` : "";
  return `outputs: kept at most ${mostOutputs} of ${mostCharacters} characters together${names}${file}`;
}

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
