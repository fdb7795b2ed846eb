import { createHash, randomUUID } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { makeDirectories } from "#lib/base/index.node.ts";
import { checkName, contentTypeOf, fileNameOf } from "./artifact-name.ts";
import type { Artifact } from "./build-document.ts";
import { resultsError } from "./errors.ts";

export interface ArtifactSource {
  readonly name: string;
  readonly open: () => AsyncIterable<Uint8Array>;
  readonly contentType?: string;
  readonly testResults?: boolean;
}

export interface ArtifactLimits {
  readonly maxFileBytes: number;
  readonly maxFiles: number;
}

export const defaultArtifactLimits: ArtifactLimits = { maxFileBytes: 2 * 1024 ** 3, maxFiles: 10_000 };

/** Streams an artifact into its step's directory, hashed and synced before it is renamed. `newId` is called at the end,
 * so that ids have no gaps. Nothing is left on failure. */
export async function storeArtifact(
  step: { readonly stepId: number; readonly directory: string },
  source: ArtifactSource,
  options: { readonly maxFileBytes: number; readonly newId: () => number; readonly signal?: AbortSignal | undefined },
): Promise<Artifact> {
  const { name, contentType = contentTypeOf(name), testResults = false } = source;
  checkName(step.stepId, name);
  const home = join(step.directory, "artifacts");
  await makeDirectories(home, 0o700);
  const part = join(home, `.${randomUUID()}`);
  try {
    const { size, sha256 } = await receive(part, source, step.stepId, options);
    const artifactId = options.newId();
    const path = `artifacts/${artifactId}_${fileNameOf(name)}`;
    await rename(part, join(step.directory, path));
    return { artifactId, stepId: step.stepId, name, path, size, sha256, contentType, testResults };
  } catch (thrown) {
    await rm(part, { force: true });
    throw thrown;
  }
}

async function receive(
  part: string,
  source: ArtifactSource,
  stepId: number,
  { maxFileBytes, signal }: { readonly maxFileBytes: number; readonly signal?: AbortSignal | undefined },
): Promise<{ readonly size: number; readonly sha256: string }> {
  const hash = createHash("sha256");
  const handle = await open(part, "wx", 0o600);
  let size = 0;
  try {
    for await (const chunk of source.open()) {
      signal?.throwIfAborted();
      size += chunk.length;
      if (size > maxFileBytes) {
        const problem = `artifact ${JSON.stringify(source.name)} of step ${stepId}: expected at most ${maxFileBytes} bytes, found more`;
        throw resultsError("artifact-limit", problem, { hint: "raise worker.artifacts.maxFileBytes" });
      }
      hash.update(chunk);
      for (let at = 0; at < chunk.length; ) at += (await handle.write(chunk, at)).bytesWritten;
    }
    await handle.datasync();
  } finally {
    await handle.close();
  }
  return { size, sha256: hash.digest("hex") };
}
