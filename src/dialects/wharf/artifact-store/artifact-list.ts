import { open, truncate } from "node:fs/promises";
import { readTextIfPresent } from "#lib/base/index.node.ts";

export interface TestCounts {
  readonly total: number;
  readonly failed: number;
  readonly passed: number;
  readonly skipped: number;
}

export interface StoredArtifact {
  readonly artifactId: number;
  readonly stepId: number;
  readonly workerArtifactId: number;
  readonly name: string;
  readonly fileName: string;
  readonly size: number;
  readonly sha256: string;
  readonly contentType: string;
  readonly createdAt: string;
  readonly tests?: TestCounts & { readonly details: number };
}

/** Reads a list with one JSON object per line; a torn end is cut off. */
export async function readArtifactList(path: string): Promise<readonly StoredArtifact[]> {
  const text = (await readTextIfPresent(path)) ?? "";
  const artifacts: StoredArtifact[] = [];
  let length = 0;
  for (const line of text.split("\n").slice(0, -1)) {
    const artifact = artifactIn(line);
    if (artifact === undefined) break;
    artifacts.push(artifact);
    length += Buffer.byteLength(line) + 1;
  }
  if (length < Buffer.byteLength(text)) await truncate(path, length);
  return artifacts;
}

function artifactIn(line: string): StoredArtifact | undefined {
  try {
    return JSON.parse(line) as StoredArtifact;
  } catch {
    // Power loss may leave zeros.
    return undefined;
  }
}

/** Appends durably; a failed write is undone. */
export async function appendArtifact(path: string, artifact: StoredArtifact): Promise<void> {
  const handle = await open(path, "a", 0o600);
  try {
    const { size } = await handle.stat();
    try {
      await handle.writeFile(`${JSON.stringify(artifact)}\n`);
      await handle.datasync();
    } catch (thrown) {
      await handle.truncate(size);
      throw thrown;
    }
  } finally {
    await handle.close();
  }
}
