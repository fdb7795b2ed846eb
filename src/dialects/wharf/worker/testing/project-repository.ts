import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { openRepository } from "../../repository/repository.ts";
import type { StepRepository } from "../step-runtime.ts";

export async function repositoryIn(directory: string, work: string): Promise<StepRepository> {
  const home = join(work, `repository-${++made}`);
  await mkdir(home);
  const signal = new AbortController().signal;
  return openRepository({ directory, work: home, environment: process.env, signal, onWarning: () => undefined });
}
let made = 0;
