import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  aborted,
  type Clock,
  deferred,
  FakeClock,
  type JsonObject,
  SlipwayError,
  systemClock,
} from "#lib/base/index.ts";
import type { ApiClient, PodStreams } from "#kernel/kit/index.ts";
import { type MemoryClient, memoryClient } from "#kernel/kit/testing/index.ts";
import { ApiError, ConfigMap, type KubeObject, Pod, Secret, type Stored } from "#kernel/model/index.ts";
import type { StepPlan } from "../../plan/step-plan.ts";
import { createSubstituter } from "../../variables/substitute.ts";
import { materialOf } from "../step-material.ts";
import type { StepEnd, StepJob } from "../step-runtime.ts";
import { newJob, repositoryOf, shellStep } from "../testing/step-job.ts";
import { KubernetesStepRuntime } from "./kubernetes-runtime.ts";

const namespace = "builds";
const waiting = (reason: string, message = "") => ({ waiting: { reason, message } });
const running = { running: {} };
const ended = (exitCode: number, more: JsonObject = {}) => ({ terminated: { exitCode, ...more } });

/** A status in Kubernetes' words: the state of `init`, then that of `step`. */
const states = (init: JsonObject, step?: JsonObject, more: JsonObject = {}): JsonObject => ({
  initContainerStatuses: [{ name: "init", state: init }],
  containerStatuses: step === undefined ? [] : [{ name: "step", state: step }],
  ...more,
});

let work: string;
let memory: MemoryClient;
let clock: FakeClock;
let runtime: KubernetesStepRuntime;
/** What becomes of a Pod when it is created, and when its waiting is ended. */
let atCreation: JsonObject | undefined;
let atTelling: JsonObject | undefined;
/** What becomes of programs in a Pod; they succeed when absent. */
let atTransfer: ((signal: AbortSignal | undefined) => Promise<unknown>) | undefined;

const setStatus = async (name: string, status: JsonObject): Promise<void> => {
  await memory.patch({ type: Pod, namespace, name }, { type: "merge", body: { status } }, { subresource: "status" });
};
const pods = async (): Promise<readonly Stored[]> => (await memory.list(Pod, { namespace })).items;
const theOnly = async (): Promise<string> => (await pods())[0]?.metadata.name ?? "";

/** Does what it is told to, as far as it shows in the status. */
const streams: PodStreams = {
  async exec({ name }, { command, stdin, signal }) {
    await atTransfer?.(signal);
    for await (const _chunk of stdin ?? []);
    if (command.some((word) => word.includes("kill")) && atTelling !== undefined) await setStatus(name, atTelling);
    return { exitCode: 0 };
  },
  portForward: () => Promise.reject(new Error("nobody forwards ports here")),
  close: () => undefined,
};

function open(client: ApiClient, time: Clock): KubernetesStepRuntime {
  return new KubernetesStepRuntime({
    cluster: { client, streams, namespace, server: "https://cluster" },
    build: { instance: "local", buildId: 1 },
    clock: time,
    images: { init: "i", artifacts: "a" },
    ownerReferences: [],
  });
}

/** The client that makes Pods which are as far as `atCreation` says before anybody can look. */
const eager = (): ApiClient => {
  const client: ApiClient = Object.create(memory) as ApiClient;
  return Object.assign(client, bound(memory), {
    async create<T extends KubeObject>(...given: Parameters<ApiClient["create"]>) {
      const made = await memory.create(...given);
      if (atCreation !== undefined && made.kind === "Pod") await setStatus(made.metadata.name, atCreation);
      return made as Stored<T>;
    },
  });
};

/** Its verbs, which need their own `this`. */
const bound = (client: MemoryClient): Partial<ApiClient> => ({
  get: (...given) => client.get(...given),
  list: (...given) => client.list(...given),
  watch: (...given) => client.watch(...given),
  delete: (...given) => client.delete(...given),
  logs: (...given) => client.logs(...given),
  close: () => client.close(),
});

async function run(more: Partial<StepJob> = {}, step: Partial<StepPlan> = {}) {
  const repository = { ...repositoryOf(), async *tar() {} };
  const made = await newJob(work, shellStep("true", step), { repository, ...more });
  return { ended: runtime.run(made.job), output: made.output, remarks: made.remarks };
}

/** Lets time pass until the step has ended. */
async function endOf(step: Promise<StepEnd>): Promise<StepEnd> {
  const outcome = { isThere: false };
  const settle = (): void => void (outcome.isThere = true);
  step.then(settle, settle);
  for (let turn = 0; turn < 5000 && !outcome.isThere; turn++) await clock.advance(100);
  return await step;
}

beforeEach(async () => {
  work = await mkdtemp(join(tmpdir(), "slipway-pods-"));
  clock = new FakeClock();
  memory = memoryClient({
    namespaces: [namespace],
    logs: async function* () {
      yield Buffer.from("2026-11-23T10:00:00.000000001Z hello\n");
    },
  });
  [atCreation, atTelling, atTransfer] = [states(running), states(ended(0), ended(0)), undefined];
  runtime = open(eager(), clock);
});
afterEach(async () => {
  const closing = runtime.close();
  for (let turn = 0; turn < 700; turn++) await clock.advance(100);
  await closing;
  await rm(work, { recursive: true, force: true });
});

describe("a step in a Pod", () => {
  test("counts states that were reached before anybody looked, and passed while nobody could", async () => {
    const phases: string[] = [];
    const step = await run({ onPhase: (phase) => phases.push(phase) });
    expect(await endOf(step.ended)).toMatchObject({ status: "Success", exitCode: 0 });
    expect([step.output(), phases]).toEqual(["hello\n", ["Initializing", "Running"]]);
    await expect.poll(async () => (await pods()).length).toBe(0);
  });

  test("whose init container does not end, however often it is told, has failed", async () => {
    atTelling = undefined;
    const step = await run();
    expect(await endOf(step.ended)).toMatchObject({
      status: "Failed",
      reason: "Transfer",
      message: "the init container of the Pod did not end: it was asked to",
    });
  });

  test("is seen by a list when the watch ends and its place is forgotten", async () => {
    [atCreation, atTelling] = [undefined, undefined];
    const step = await run();
    const name = await expectOne();
    for (const status of [states(running), states(ended(0), running), states(ended(0), ended(3))]) {
      memory.dropWatches();
      await setStatus(name, status);
      memory.compact();
      for (let turn = 0; turn < 30; turn++) await clock.advance(100);
    }
    expect(await endOf(step.ended)).toMatchObject({ status: "Failed", exitCode: 3, reason: "ExitCode" });
  });

  test.each([
    ["while it waits for its repository", states(waiting("PodInitializing"))],
    ["while it runs", states(ended(0), running)],
  ])("that somebody else deletes %s has failed", async (_when, status) => {
    [atCreation, atTelling] = [status, undefined];
    const step = await run();
    const name = await expectOne();
    await clock.advance(100);
    await memory.delete({ type: Pod, namespace, name }, { gracePeriodSeconds: 0 });
    expect(await endOf(step.ended)).toMatchObject({
      status: "Failed",
      reason: "PodDeleted",
      message: `the Pod ${name} of the step was deleted by another client`,
    });
  });

  test.each<[string, NonNullable<typeof atTransfer>]>([
    ["stands still", (signal) => aborted(signal ?? AbortSignal.abort()).then(() => signal?.throwIfAborted())],
    ["is refused", () => Promise.reject(new ApiError("NotFound", "there is no such Pod"))],
  ])("that is deleted while its repository %s has failed by that", async (_how, transfer) => {
    const begun = deferred<void>();
    const deleted = deferred<void>();
    atTransfer = async (signal) => {
      begun.resolve();
      await deleted.promise;
      await transfer(signal);
    };
    const step = await run();
    const name = await expectOne();
    await begun.promise;
    deleted.resolve();
    await memory.delete({ type: Pod, namespace, name }, { gracePeriodSeconds: 0 });
    expect(await endOf(step.ended)).toMatchObject({ status: "Failed", reason: "PodDeleted" });
  });

  test("whose image cannot be pulled has failed after a minute, and not when that passes", async () => {
    atCreation = states(waiting("ErrImagePull", "no route"));
    const first = await run();
    for (let turn = 0; turn < 590; turn++) await clock.advance(100);
    const [name] = [await expectOne()];
    await setStatus(name, states(running));
    expect(await endOf(first.ended)).toMatchObject({ status: "Success" });
    const second = await run({}, { stepId: 2 });
    expect(await endOf(second.ended)).toMatchObject({
      status: "Failed",
      reason: "ImagePull",
      message: "container init: ErrImagePull: no route",
    });
  });

  test.each([
    [
      "a configuration that is not there",
      states(ended(0), waiting("CreateContainerConfigError", "no secret")),
      undefined,
      { reason: "CreateContainerConfigError", message: "container step: CreateContainerConfigError: no secret" },
    ],
    ["an image that has no name", states(waiting("InvalidImageName")), undefined, { reason: "InvalidImageName" }],
    ["an init container that fails", states(ended(1)), undefined, { reason: "InitFailed", exitCode: null }],
    [
      "a node that needs its room",
      states(running, undefined, { phase: "Failed", reason: "Evicted", message: "low on memory" }),
      undefined,
      { reason: "Evicted", message: "Evicted: low on memory" },
    ],
    [
      "an eviction that ended its program",
      states(ended(0), ended(137), { phase: "Failed", reason: "Evicted", message: "low" }),
      undefined,
      { reason: "Evicted" },
    ],
    [
      "too much memory",
      states(running),
      states(ended(0), ended(137, { reason: "OOMKilled" })),
      { reason: "OutOfMemory", exitCode: 137 },
    ],
    [
      "a program that is not there",
      states(running),
      states(ended(0), ended(128, { reason: "StartError", message: 'exec: "x": no such file or directory' })),
      { reason: "NotFound", exitCode: 127 },
    ],
    ["a signal", states(running), states(ended(0), ended(143)), { reason: "Signal", message: "killed by SIGTERM" }],
  ] as const)("fails by %s", async (_title, created, told, expected) => {
    [atCreation, atTelling] = [created, told];
    const step = await run();
    expect(await endOf(step.ended)).toMatchObject({ status: "Failed", ...expected });
  });

  test("on a node that is dead is cancelled a minute after its grace, and its Pod is taken away by force", async () => {
    [atCreation, atTelling] = [states(running), states(ended(0), running)];
    const client = eager();
    const graces: (number | undefined)[] = [];
    // Who asks politely is heard by the API, and by no node.
    const polite: ApiClient["delete"] = async (ref, options) => {
      graces.push(options?.gracePeriodSeconds);
      return options?.gracePeriodSeconds === 0 ? await memory.delete(ref, options) : await memory.get(ref);
    };
    runtime = open(
      { ...client, ...bound(memory), create: (...given) => client.create(...given), delete: polite },
      clock,
    );
    const cancel = new AbortController();
    const step = await run({ signal: cancel.signal, graceMs: 5000 });
    await expectOne();
    for (let turn = 0; turn < 30; turn++) await clock.advance(100);
    cancel.abort();
    const outcome = { isThere: false };
    void step.ended.then(() => (outcome.isThere = true));
    for (let turn = 0; turn < 600; turn++) await clock.advance(100);
    expect(outcome.isThere).toBe(false);
    expect(await endOf(step.ended)).toEqual({ status: "Cancelled", exitCode: null });
    await expect.poll(async () => (await pods()).length).toBe(0);
    expect(graces).toEqual([5, 0]);
  });

  test("is lost when the cluster is away for a minute, and not when it comes back", async () => {
    [atCreation, atTelling] = [states(running), states(ended(0), running)];
    const away = new SlipwayError("connection-refused", "nobody listens");
    let isAway = false;
    const client = eager();
    const guarded =
      <A extends readonly unknown[], R>(verb: (...given: A) => Promise<R>) =>
      (...given: A): Promise<R> =>
        isAway ? Promise.reject(away) : verb(...given);
    runtime = open(
      {
        ...client,
        ...bound(memory),
        create: (...given) => client.create(...given),
        list: guarded(memory.list.bind(memory)),
        delete: guarded(memory.delete.bind(memory)),
      } as ApiClient,
      clock,
    );
    for (const [comesBack, expected] of [
      [true, { status: "Success" }],
      [false, { status: "Failed", reason: "RuntimeLost" }],
    ] as const) {
      const step = await run({}, { stepId: comesBack ? 1 : 2 });
      const name = await expectOne();
      for (let turn = 0; turn < 10; turn++) await clock.advance(100);
      isAway = true;
      memory.dropWatches();
      for (let turn = 0; turn < 300; turn++) await clock.advance(100);
      if (comesBack) {
        isAway = false;
        await setStatus(name, states(ended(0), ended(0)));
      }
      expect(await endOf(step.ended)).toMatchObject(expected);
    }
    isAway = false;
  });
});

/** The Pod of the step, once it is there. */
async function expectOne(): Promise<string> {
  await expect.poll(theOnly).not.toBe("");
  return await theOnly();
}

describe("secrets and config maps of the cluster", () => {
  const sources = () => ({
    projectDirectory: work,
    substituter: createSubstituter(new Map() as never),
    places: [],
    runtime,
  });
  const mount = { kind: "configMap", name: "kubectl-config", path: "/root/.kube", readOnly: true } as const;
  const put = async (name: string): Promise<void> => {
    const metadata = { name, namespace };
    await memory.create(Secret, {
      apiVersion: "v1",
      kind: "Secret",
      metadata,
      data: { key: btoa("hidden") },
    } as KubeObject);
  };

  test("are named by the Pod, masked here, and missed before anything is made", async () => {
    await put("whole");
    await put("part");
    const env = [
      { name: "A", value: "plain" },
      { name: "B", secretRef: { name: "part", key: "key" } },
    ];
    const step = shellStep("true", { env, envFrom: ["whole"], mounts: [mount] });
    expect(await materialOf(step, sources())).toEqual({
      ok: false,
      error: "there is no config map kubectl-config; looked in the namespace builds of https://cluster",
    });
    await memory.create(ConfigMap, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: mount.name, namespace } });
    expect(await materialOf(step, sources())).toMatchObject({
      ok: true,
      value: { env: { A: "plain" }, mounts: [], masked: ["hidden"], remarks: [] },
    });
  });

  test("that may not be read are the step's all the same, which is said", async () => {
    const client = { ...bound(memory), get: () => Promise.reject(new Error("forbidden")) } as unknown as ApiClient;
    const blind = open(client, systemClock);
    const found = await materialOf(shellStep("true", { envFrom: ["s"] }), { ...sources(), runtime: blind });
    expect(found).toMatchObject({
      ok: true,
      value: { masked: [], remarks: [expect.stringContaining("secret s are not masked")] },
    });
  });
});
