import { spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { testImage } from "./docker-engine.ts";
import { cleanEnvironment, type Finished, root, slipwayBin } from "./slipway.ts";
import { within } from "./within.ts";

// Runs with steps that cannot start, and what is told of them while they go on.

/** A step that succeeds, but for what `container` says. */
export const step = (container: object) => ({ container: { image: testImage, command: ["true"], ...container } });

/** Writes a workflow into the directory and returns its path. */
export async function workflowFile(directory: string, name: string, steps: Record<string, object>): Promise<string> {
  const path = join(directory, `${name}.json`);
  const kind = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow" };
  await writeFile(path, JSON.stringify({ ...kind, metadata: { name }, spec: { steps } }));
  return path;
}

/** Runs until everything that is waited for has been told, then interrupts. Resolves with what was told, and how it ended. */
export async function runUntil(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  ...wanted: readonly RegExp[]
): Promise<Pick<Finished, "code" | "err">> {
  const child = spawn(process.execPath, [slipwayBin, "run", ...args], {
    cwd: root,
    env: cleanEnvironment(env),
    stdio: ["ignore", "ignore", "pipe"],
  });
  let err = "";
  let isAsked = false;
  child.stderr.on("data", (chunk: Buffer) => {
    err += chunk.toString();
    if (!isAsked && wanted.every((pattern) => pattern.test(err))) isAsked = child.kill("SIGINT");
  });
  // Not its exit, before which not all that it has told need have come.
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const code = await within(100_000, `slipway run tells ${wanted.join(", ")} and ends`, ended, () => err);
  return { code, err };
}
