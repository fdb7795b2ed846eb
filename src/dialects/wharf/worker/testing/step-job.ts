import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { StepPlan } from "../../plan/step-plan.ts";
import type { StepJob, StepRepository } from "../step-runtime.ts";

export const shellStep = (script: string, more: Partial<StepPlan> = {}): StepPlan => ({
  stepId: 1,
  stage: "build",
  step: "only",
  type: "container",
  image: "busybox",
  entry: ["/bin/sh", "-c"],
  args: [script],
  workdir: "/mnt/repo",
  env: [],
  envFrom: [],
  mounts: [],
  pullPolicy: "Always",
  os: "linux",
  repo: { overlay: [] },
  artifacts: [],
  testResults: [],
  ...more,
});

export const repositoryOf = (texts: Readonly<Record<string, string>> = {}): StepRepository => ({
  directory: "/nowhere",
  async copyTo(target, overlay) {
    await mkdir(target);
    const all = [
      ...Object.entries(texts).map(([path, text]) => ({ path, bytes: Buffer.from(text) })),
      ...overlay.map(({ path, bytes }) => ({ path, bytes })),
    ];
    for (const { path, bytes } of all) await writeFile(join(target, path), bytes);
  },
  // oxlint-disable-next-line require-yield
  async *tar() {
    throw new Error("nobody needs an archive here");
  },
});

export async function newJob(work: string, step: StepPlan, more: Partial<StepJob> = {}) {
  const directory = join(work, `${step.stepId}`);
  await mkdir(directory);
  const [chunks, remarks]: [Buffer[], string[]] = [[], []];
  const job: StepJob = {
    step,
    env: {},
    directory,
    repository: repositoryOf(),
    overlay: [],
    mounts: [],
    log: {
      append: (stream, chunk) =>
        stream === "slipway" ? remarks.push(chunk.toString()) > 0 : chunks.push(Buffer.from(chunk)) > 0,
      drained: () => Promise.resolve(),
    },
    signal: new AbortController().signal,
    graceMs: 10_000,
    onPhase: () => undefined,
    ...more,
  };
  return { job, output: (encoding?: BufferEncoding) => Buffer.concat(chunks).toString(encoding), remarks };
}
