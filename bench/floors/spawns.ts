import { spawn } from "node:child_process";
import type { Measured } from "../harness/types.ts";

// Floor of many host steps: as many bare processes, as many at once as there are processors unless told. CPU is the children's too.

export async function run({
  jobs,
  atOnce = 2,
}: {
  readonly jobs: number;
  readonly atOnce?: number;
}): Promise<Omit<Measured, "cpuUs">> {
  const start = performance.now();
  let left = jobs;
  const worker = async (): Promise<void> => {
    while (left-- > 0) await bareProcess();
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return { ops: jobs, ms: performance.now() - start };
}

const bareProcess = (): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawn("true", { stdio: ["ignore", "pipe", "pipe"] });
    child.once("error", reject);
    child.once("close", (code) => (code === 0 ? resolve() : reject(new Error(`true ended with ${code}`))));
  });
