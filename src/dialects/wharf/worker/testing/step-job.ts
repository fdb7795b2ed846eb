import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { StepPlan } from "../../plan/step-plan.ts";
import type { StepJob, StepRepository } from "../step-runtime.ts";

/** A step that runs these lines of shell. */
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

/** A repository of these texts; modes and links are not its business. */
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

/** A job below a directory, what its step has printed, and what the runtime has said of it. */
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
