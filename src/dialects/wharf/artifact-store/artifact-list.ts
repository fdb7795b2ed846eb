import { open, readFile, truncate } from "node:fs/promises";
import { codeOf } from "#lib/base/index.ts";

/** How tests ended, of one file. */
export interface TestCounts {
  readonly total: number;
  readonly failed: number;
  readonly passed: number;
  readonly skipped: number;
}

/** Something that a build has left, as it is kept here. */
export interface StoredArtifact {
  /** From 1, within the build. */
  readonly artifactId: number;
  /** 0 when it was not sent by a worker. */
  readonly stepId: number;
  /** Its number with the worker; 0 when it has none. */
  readonly workerArtifactId: number;
  /** Of the step: path below the artifact root. */
  readonly name: string;
  readonly fileName: string;
  readonly size: number;
  readonly sha256: string;
  readonly contentType: string;
  /** RFC 3339. */
  readonly createdAt: string;
  /** Of a file of test results, and how many single results it has. */
  readonly tests?: TestCounts & { readonly details: number };
}

/** The artifacts in a file, one JSON object a line. What a crash has left of the last one is cut off. A file that is missing has none. */
export async function readArtifactList(path: string): Promise<readonly StoredArtifact[]> {
  const text = await readFile(path, "utf8").catch((thrown: unknown) => {
    if (codeOf(thrown) === "ENOENT") return "";
    throw thrown;
  });
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
    // Pages of a file that was being written when the power went may be zeros.
    return undefined;
  }
}

/** Appends an artifact to a file, durably; what a failed write has left is taken back. */
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
