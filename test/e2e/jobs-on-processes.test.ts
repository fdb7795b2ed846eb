import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { isTrue } from "#kernel/kit/index.ts";
import { Job, Pod, type Stored } from "#kernel/model/index.ts";
import type { Runtime } from "#kernel/runtimes/index.ts";
import { temporaryDirectory, testRuntime } from "#kernel/runtimes/testing/index.ts";
import type { JobObject } from "#kernel/workloads/job-types.ts";
import { addTestPodRunner, bench, type Bench, type BenchOptions, shellJob } from "#kernel/workloads/testing/index.ts";
import { addJobController } from "#kernel/workloads/index.ts";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let runtime: Runtime;
let place: Bench;

beforeEach(async () => {
  directory = await temporaryDirectory();
  runtime = await testRuntime(directory.path);
  place = openPlace();
});
afterEach(async () => {
  await place.close();
  await runtime.close({ stopTasks: 0 });
  await directory.remove();
});

function openPlace(options: BenchOptions = {}): Bench {
  const opened = bench(options);
  addTestPodRunner(opened.manager, runtime, directory.path);
  addJobController(opened.manager, { instance: "test" });
  opened.start();
  return opened;
}

const ends = (job: Stored<JobObject> | undefined): boolean =>
  isTrue(job?.status?.conditions, "Complete") || isTrue(job?.status?.conditions, "Failed");

async function run(job: JobObject): Promise<Stored<JobObject> | undefined> {
  await place.client.create(Job, job);
  return place.until<JobObject>(Job, job.metadata.name ?? "", ends);
}

test("a Job of one pod completes with two writes to its status at most, and lets its pod go", async () => {
  await place.close();
  // A pod that takes a while is told of in between. By this clock it takes none, however long the machine does.
  place = openPlace({ clock: new FakeClock() });
  let writes = 0;
  const patch = place.client.patch.bind(place.client);
  place.client.patch = (ref, ...rest) => {
    if (ref.type.kind === "Job") writes++;
    return patch(ref, ...rest);
  };
  const job = await run(shellJob("once", "echo hi"));
  expect(job?.status).toMatchObject({ succeeded: 1, ready: 0, terminating: 0, uncountedTerminatedPods: {} });
  expect(job?.status?.conditions?.map(({ type, reason }) => `${type} ${reason}`)).toEqual([
    "SuccessCriteriaMet CompletionsReached",
    "Complete CompletionsReached",
  ]);
  const { items } = await place.client.list(Pod);
  const name = items[0]?.metadata.name ?? "";
  await place.until(Pod, name, (pod) => (pod?.metadata.finalizers ?? []).length === 0);
  expect(writes).toBeLessThanOrEqual(2);
});

test("an Indexed Job runs every index once and knows its number", async () => {
  const file = join(directory.path, "indexes");
  const script = `echo $JOB_COMPLETION_INDEX >> ${file}`;
  const job = await run(shellJob("many", script, { completions: 12, parallelism: 5, completionMode: "Indexed" }));
  expect(job?.status).toMatchObject({ succeeded: 12, completedIndexes: "0-11" });
  const lines = (await readFile(file, "utf8")).trim().split("\n").map(Number);
  expect(lines.sort((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, index) => index));
});

test("a Job that must not be tried again fails with its first pod", async () => {
  const job = await run(shellJob("fails", "exit 7", { backoffLimit: 0 }));
  expect(job?.status).toMatchObject({ failed: 1 });
  expect(job?.status?.conditions?.map(({ type, reason }) => `${type} ${reason}`)).toEqual([
    "FailureTarget BackoffLimitExceeded",
    "Failed BackoffLimitExceeded",
  ]);
});

test("a Job whose pod asks for what the runtime cannot do fails at once and says why", async () => {
  const job = shellJob("shares", "true");
  const { spec } = job.spec.template;
  const volumes = [{ name: "data", nfs: { server: "x", path: "/" } }];
  const ended = await run({ ...job, spec: { ...job.spec, template: { spec: { ...spec, volumes } } } });
  const failed = ended?.status?.conditions?.find(({ type }) => type === "Failed");
  expect(failed).toMatchObject({ reason: "PodRefused", message: expect.stringContaining("of type nfs") });
});
