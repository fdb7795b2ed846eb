import { access, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, expect, test } from "vitest";
import { deferred, FakeClock, type JsonObject } from "#lib/base/index.ts";
import { memoryClient } from "#kernel/kit/testing/index.ts";
import { ConfigMap, Event, type KubeObject, Pod, type ResourceType, type Stored } from "#kernel/model/index.ts";
import { type Interaction, type Task, type PodSessions } from "#kernel/runtimes/index.ts";
import { temporaryDirectory, createFakeRuntime, type FakeRuntime } from "#kernel/runtimes/testing/index.ts";
import type { Container, PodObject, PodSpec } from "../pod-types.ts";
import { addTestPodRunner, bench, type Bench, shellPod } from "../testing/index.ts";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let clock: FakeClock;
let runtime: FakeRuntime;
let place: Bench;
let sessions: PodSessions;
/** Commands that were run beside containers: what was asked for, and whether it was killed. */
const besides: { readonly command: readonly string[]; readonly env: Task["env"]; isKilled: boolean }[] = [];

beforeEach(async () => {
  directory = await temporaryDirectory();
  clock = new FakeClock();
  runtime = createFakeRuntime({ clock, ignoresTerm: ({ command }) => command.includes("stubborn"), interact: beside });
  place = bench({ clock, client: memoryClient({ clock }) });
  sessions = addTestPodRunner(place.manager, runtime, directory.path);
  place.start();
});
afterEach(async () => {
  const closed = place.close();
  await clock.advance(20_000);
  await closed;
  await directory.remove();
});

/** A command that says nothing and runs until it is killed. */
function beside({ command, env }: Task): Interaction {
  const run = { command, env, isKilled: false };
  besides.push(run);
  const ended = deferred<number>();
  const kill = () => {
    run.isKilled = true;
    ended.resolve(137);
  };
  return { stdout: Readable.from([]), stderr: Readable.from([]), ended: ended.promise, resize: () => undefined, kill };
}

type Condition = (pod: Stored<PodObject> | undefined) => boolean;

/** Moves the clock in small steps until the condition holds. */
async function until(name: string, holds: Condition, step = 50): Promise<Stored<PodObject> | undefined> {
  for (;;) {
    const { items } = await place.client.list<PodObject>(Pod, { namespace: "default" });
    const pod = items.find(({ metadata }) => metadata.name === name);
    if (holds(pod)) return pod;
    await clock.advance(step);
  }
}

const startedTask = async (id: string): Promise<void> => {
  while (!runtime.started.some((task) => task.id === id)) await clock.advance(10);
};

/** The newest command beside the main container of a pod that was not seen before. */
async function startedExec(uid: string, known = 0): Promise<string> {
  for (;;) {
    const found = runtime.started.filter(({ id }) => id.startsWith(`${uid}/main.exec/`))[known];
    if (found !== undefined) return found.id;
    await clock.advance(10);
  }
}

async function create(name: string, spec: Partial<PodSpec> = {}): Promise<string> {
  const { metadata } = await place.client.create(Pod, shellPod(name, "sleep", spec));
  return metadata.uid;
}

const mainOf = (pod: Stored<PodObject> | undefined) => pod?.status?.containerStatuses?.[0];
const phaseIs =
  (phase: string): Condition =>
  (pod) =>
    pod?.status?.phase === phase;

test("a container that fails is restarted at once, then after 10 s, then 20 s", async () => {
  const uid = await create("crashing", { restartPolicy: "OnFailure" });
  await startedTask(`${uid}/main/0`);
  await runtime.exit(`${uid}/main/0`, 1);
  await startedTask(`${uid}/main/1`);
  await runtime.exit(`${uid}/main/1`, 1);
  const ended = clock.now();
  const waiting = await until("crashing", (pod) => mainOf(pod)?.state.waiting?.reason === "CrashLoopBackOff", 10);
  expect(mainOf(waiting)).toMatchObject({
    state: { waiting: { message: "back-off 10s restarting failed container=main" } },
    lastState: { terminated: { exitCode: 1, reason: "Error" } },
    restartCount: 1,
  });
  await startedTask(`${uid}/main/2`);
  expect(clock.now() - ended).toBeGreaterThanOrEqual(10_000);
  await runtime.exit(`${uid}/main/2`, 1);
  const again = clock.now();
  await startedTask(`${uid}/main/3`);
  expect(clock.now() - again).toBeGreaterThanOrEqual(20_000);
  await runtime.exit(`${uid}/main/3`, 0);
  const over = await until("crashing", phaseIs("Succeeded"));
  expect(mainOf(over)).toMatchObject({ restartCount: 3, state: { terminated: { exitCode: 0 } } });
});

test("a container that ran ten minutes is restarted at once", async () => {
  const uid = await create("calm", { restartPolicy: "Always" });
  await startedTask(`${uid}/main/0`);
  await runtime.exit(`${uid}/main/0`, 1);
  await startedTask(`${uid}/main/1`);
  await clock.advance(600_000);
  await runtime.exit(`${uid}/main/1`, 1);
  await clock.advance(0);
  expect(runtime.started.map(({ id }) => id)).toContain(`${uid}/main/2`);
});

test("a pod past its deadline is ended and failed", async () => {
  const uid = await create("slow", { activeDeadlineSeconds: 60, terminationGracePeriodSeconds: 5 });
  await startedTask(`${uid}/main/0`);
  const pod = await until("slow", phaseIs("Failed"), 1_000);
  expect(pod?.status).toMatchObject({ reason: "DeadlineExceeded" });
  expect(runtime.stops).toEqual([{ id: `${uid}/main/0`, grace: 5_000 }]);
});

test("the grace of a deletion counts from the request, and a shorter one replaces it", async () => {
  const container = { name: "main", image: "x", command: ["stubborn"] };
  const uid = await create("stubborn", { containers: [container], terminationGracePeriodSeconds: 30 });
  await until("stubborn", phaseIs("Running"));
  const ref = { type: Pod, namespace: "default", name: "stubborn" };
  await place.client.delete(ref);
  while (runtime.stops.length === 0) await clock.advance(10);
  expect(runtime.stops[0]?.grace).toBeGreaterThan(28_000);
  await place.client.delete(ref, { gracePeriodSeconds: 5 });
  while (runtime.stops.length < 2) await clock.advance(10);
  expect(runtime.stops[1]?.grace).toBeLessThanOrEqual(5_000);
  await until("stubborn", (pod) => pod === undefined, 1_000);
  expect(runtime.find(`${uid}/main/0`)).toBeUndefined();
});

test("containers of one pod run side by side; the pod ends with the last of them", async () => {
  const container = (name: string) => ({ name, image: "x", command: ["x"] });
  const uid = await create("two", { containers: [container("a"), container("b")] });
  await startedTask(`${uid}/a/0`);
  await startedTask(`${uid}/b/0`);
  await runtime.exit(`${uid}/a/0`, 0);
  const half = await until("two", (pod) => mainOf(pod)?.state.terminated !== undefined);
  expect(half?.status).toMatchObject({ phase: "Running" });
  expect(half?.status?.conditions?.find(({ type }) => type === "Ready")).toMatchObject({
    status: "False",
    reason: "ContainersNotReady",
    message: "containers with unready status: [a]",
  });
  await runtime.exit(`${uid}/b/0`, 5);
  const over = await until("two", phaseIs("Failed"));
  expect(over?.status?.conditions?.find(({ type }) => type === "Ready")).toMatchObject({
    status: "False",
    reason: "PodFailed",
  });
});

test("a lost container is an error with the runtime's words, and a policy may start another", async () => {
  const uid = await create("lost", { restartPolicy: "OnFailure" });
  await startedTask(`${uid}/main/0`);
  runtime.lose(`${uid}/main/0`);
  await startedTask(`${uid}/main/1`);
  await runtime.exit(`${uid}/main/1`, 0);
  const pod = await until("lost", phaseIs("Succeeded"));
  expect(mainOf(pod)?.lastState.terminated).toMatchObject({
    exitCode: 137,
    reason: "ContainerStatusUnknown",
    message: "lost by the test",
  });
});

test("a container whose record is gone is an error, not a second run", async () => {
  const uid = await create("forgotten");
  await startedTask(`${uid}/main/0`);
  await until("forgotten", phaseIs("Running"));
  const { client } = place;
  const closed = place.close();
  await clock.advance(20_000);
  await closed;
  runtime = createFakeRuntime({ clock });
  place = bench({ clock, client });
  addTestPodRunner(place.manager, runtime, directory.path);
  place.start();
  const pod = await until("forgotten", phaseIs("Failed"));
  expect(mainOf(pod)?.state.terminated).toMatchObject({
    exitCode: 137,
    reason: "ContainerStatusUnknown",
    message: "the fake runtime has no record of it any more",
  });
  expect(runtime.started).toEqual([]);
});

test("a runtime that fails is tried again, and the pod is not lost", async () => {
  runtime.failStarts(new Error("no runner"));
  const uid = await create("later");
  await clock.advance(100);
  expect(runtime.started).toEqual([]);
  runtime.failStarts(undefined);
  await startedTask(`${uid}/main/0`);
  await runtime.exit(`${uid}/main/0`, 0);
  await until("later", phaseIs("Succeeded"));
  expect(runtime.started).toHaveLength(1);
});

test("a pod that waits for its runtime says so once, in an event", async () => {
  runtime.failStarts(new Error("the runner process does not answer"));
  const uid = await create("waits");
  const notes = async () => {
    const { items } = await place.client.list<KubeObject & { readonly reason?: string; readonly note?: string }>(
      Event,
      {
        namespace: "default",
      },
    );
    return items.filter(({ reason }) => reason === "RuntimeNotReady").map(({ note }) => note);
  };
  while ((await notes()).length === 0) await clock.advance(50);
  await clock.advance(2_000);
  expect(await notes()).toEqual(["the runner process does not answer"]);
  runtime.failStarts(undefined);
  await startedTask(`${uid}/main/0`);
});

test("without a message a failed container may speak by the end of its log", async () => {
  const container = { name: "main", image: "x", command: ["x"], terminationMessagePolicy: "FallbackToLogsOnError" };
  const uid = await create("talks", { containers: [container] });
  await startedTask(`${uid}/main/0`);
  runtime.print(`${uid}/main/0`, `${"x".repeat(3_000)}\nthe end\n`);
  await runtime.exit(`${uid}/main/0`, 1);
  const message = mainOf(await until("talks", phaseIs("Failed")))?.state.terminated?.message ?? "";
  expect(message.endsWith("the end\n")).toBe(true);
  expect(message).toHaveLength(2_048);
});

test("a message is cut at 4 KiB", async () => {
  const uid = await create("long");
  await startedTask(`${uid}/main/0`);
  await writeFile(join(directory.path, "pods-root", "pods", uid, "output", "main", "0"), "y".repeat(9_000));
  await runtime.exit(`${uid}/main/0`, 0);
  const message = mainOf(await until("long", phaseIs("Succeeded")))?.state.terminated?.message;
  expect(message).toBe("y".repeat(4_096));
});

test("logs stay after their pod is gone, until their time is over", async () => {
  const uid = await create("kept");
  await startedTask(`${uid}/main/0`);
  runtime.print(`${uid}/main/0`, "words\n");
  await runtime.exit(`${uid}/main/0`, 0);
  await until("kept", phaseIs("Succeeded"));
  const log = join(directory.path, "pods-root", "logs", "default", "kept", uid, "main", "0.log");
  await place.client.delete({ type: Pod, namespace: "default", name: "kept" });
  await until("kept", (pod) => pod === undefined);
  await clock.advance(500_000);
  await access(log);
  for (;;) {
    const isThere = await access(log).then(
      () => true,
      () => false,
    );
    if (!isThere) break;
    await clock.advance(20_000);
  }
});

const fullVolume = { name: "v", configMap: { name: "none" } };

test("a pod that is refused fails at once, binds all the same, and runs nothing", async () => {
  const uid = await create("refused", { volumes: [{ name: "v", nfs: {} }] });
  const pod = await until("refused", phaseIs("Failed"));
  expect(pod?.status).toMatchObject({ reason: "UnsupportedPod", containerStatuses: [] });
  expect(pod?.spec.nodeName).toBe("test-node");
  expect(runtime.started.filter(({ id }) => id.startsWith(uid))).toEqual([]);
});

test("what the host lacks is looked for again every half minute", async () => {
  const path = join(directory.path, "later");
  const volumes = [{ name: "h", hostPath: { path, type: "Directory" } }];
  const uid = await create("host", { volumes });
  const waiting = await until("host", (pod) => mainOf(pod)?.state.waiting?.reason === "CreateContainerError");
  expect(mainOf(waiting)?.state.waiting?.message).toBe(
    `volume h: hostPath type check failed: ${path} is not a Directory`,
  );
  await mkdir(path);
  await clock.advance(29_000);
  expect(runtime.started).toEqual([]);
  await startedTask(`${uid}/main/0`);
  await runtime.exit(`${uid}/main/0`, 0);
  await until("host", phaseIs("Succeeded"));
});

test("everything that stands against a pod's volumes is told at once", async () => {
  const path = join(directory.path, "none");
  await create("both", { volumes: [fullVolume, { name: "h", hostPath: { path, type: "File" } }] });
  const pod = await until("both", (one) => mainOf(one)?.state.waiting?.message !== undefined);
  expect(mainOf(pod)?.state.waiting).toEqual({
    reason: "CreateContainerError",
    message: `volume v: configmap "none" not found; volume h: hostPath type check failed: ${path} is not a File`,
  });
});

test("a missing ConfigMap is waited for, and the pod is woken by it and by nothing else", async () => {
  const uid = await create("patient", { volumes: [fullVolume] });
  await until("patient", (pod) => mainOf(pod)?.state.waiting?.reason === "CreateContainerConfigError");
  const configMap = (name: string) =>
    place.client.create(ConfigMap, { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default" } });
  await configMap("other");
  await clock.advance(120_000);
  expect(runtime.started).toEqual([]);
  await configMap("none");
  await startedTask(`${uid}/main/0`);
});

test("a crashing container keeps the logs of its last two executions and no more", async () => {
  const uid = await create("crashing", { restartPolicy: "OnFailure" });
  const logs = join(directory.path, "pods-root", "logs", "default", "crashing", uid, "main");
  for (let restart = 0; restart < 5; restart++) {
    await startedTask(`${uid}/main/${restart}`);
    runtime.print(`${uid}/main/${restart}`, `execution ${restart}\n`);
    await runtime.exit(`${uid}/main/${restart}`, restart === 4 ? 0 : 1);
  }
  await until("crashing", phaseIs("Succeeded"));
  // They are removed after the status that needs them no more is written.
  await expect.poll(async () => (await readdir(logs)).sort()).toEqual(["3.log", "4.log"]);
});

test("a preStop command runs first, within the grace, and the container gets what is left", async () => {
  const lifecycle = { preStop: { exec: { command: ["hook"] } } };
  const container = { name: "main", image: "x", command: ["stubborn"], lifecycle };
  const uid = await create("hooked", { containers: [container], terminationGracePeriodSeconds: 30 });
  await until("hooked", phaseIs("Running"));
  await place.client.delete({ type: Pod, namespace: "default", name: "hooked" });
  const hook = await startedExec(uid);
  expect(runtime.stops).toEqual([]);
  await clock.advance(10_000);
  await runtime.exit(hook, 0);
  while (!runtime.stops.some(({ id }) => id === `${uid}/main/0`)) await clock.advance(10);
  const stop = runtime.stops.find(({ id }) => id === `${uid}/main/0`);
  expect(stop?.grace).toBeGreaterThan(15_000);
  expect(stop?.grace).toBeLessThanOrEqual(20_000);
  await until("hooked", (pod) => pod === undefined, 1_000);
  expect((await runtime.list()).filter(({ id }) => id.startsWith(uid))).toEqual([]);
});

test("a preStop command that does not end is ended, and the container has two seconds", async () => {
  const lifecycle = { preStop: { exec: { command: ["stubborn"] } } };
  const container = { name: "main", image: "x", command: ["x"], lifecycle };
  const uid = await create("slow-hook", { containers: [container], terminationGracePeriodSeconds: 5 });
  await until("slow-hook", phaseIs("Running"));
  await place.client.delete({ type: Pod, namespace: "default", name: "slow-hook" });
  await startedExec(uid);
  await until("slow-hook", (pod) => pod === undefined, 500);
  expect(runtime.stops).toEqual([
    { id: expect.stringMatching(`^${uid}/main\\.exec/`), grace: 0 },
    { id: `${uid}/main/0`, grace: 2_000 },
  ]);
});

test("a container that could not be stopped is stopped when the runtime is back", async () => {
  await create("away", { terminationGracePeriodSeconds: 30 });
  await until("away", phaseIs("Running"));
  runtime.failStops(new Error("no runner"));
  await place.client.delete({ type: Pod, namespace: "default", name: "away" });
  while (runtime.stops.length === 0) await clock.advance(10);
  runtime.failStops(undefined);
  await until("away", (pod) => pod === undefined, 1_000);
});

test("a container that could not be stopped after its preStop command is stopped when the runtime is back", async () => {
  const lifecycle = { preStop: { exec: { command: ["hook"] } } };
  const container = { name: "main", image: "x", command: ["x"], lifecycle };
  const uid = await create("away-hooked", { containers: [container], terminationGracePeriodSeconds: 30 });
  await until("away-hooked", phaseIs("Running"));
  await place.client.delete({ type: Pod, namespace: "default", name: "away-hooked" });
  const hook = await startedExec(uid);
  runtime.failStops(new Error("no runner"));
  await runtime.exit(hook, 0);
  while (runtime.stops.length === 0) await clock.advance(10);
  runtime.failStops(undefined);
  await until("away-hooked", (pod) => pod === undefined, 1_000);
});

const probed = (name: string, probes: Partial<Container>, spec: Partial<PodSpec> = {}) =>
  create(name, { containers: [{ name: "main", image: "x", command: ["x"], ...probes }], ...spec });
const probe = { exec: { command: ["probe"] }, periodSeconds: 1 };

test("a process is ready when its readiness probe says so, and its commands leave nothing behind", async () => {
  const uid = await probed("patient", { readinessProbe: probe });
  const first = await startedExec(uid);
  expect(runtime.started.find(({ id }) => id === first)?.command).toEqual(["probe"]);
  await runtime.exit(first, 1);
  const unready = await until("patient", phaseIs("Running"));
  expect(mainOf(unready)).toMatchObject({ ready: false, started: true });
  await runtime.exit(await startedExec(uid, 1), 0);
  await until("patient", (pod) => mainOf(pod)?.ready === true);
  expect((await runtime.list()).map(({ id }) => id).filter((id) => id === first)).toEqual([]);
  await expect(access(runtime.started.find(({ id }) => id === first)?.logPath ?? "")).rejects.toThrow("ENOENT");
});

test("a process whose liveness probe fails is ended and starts again; a command that hangs is ended", async () => {
  const livenessProbe = { ...probe, failureThreshold: 1, timeoutSeconds: 3, terminationGracePeriodSeconds: 4 };
  const uid = await probed("sick", { livenessProbe }, { restartPolicy: "Always" });
  const hanging = await startedExec(uid);
  await startedTask(`${uid}/main/1`);
  expect(runtime.stops).toContainEqual({ id: hanging, grace: 0 });
  expect(runtime.stops).toContainEqual({ id: `${uid}/main/0`, grace: 4_000 });
});

test("a startup probe and a postStart hook hold back what comes after", async () => {
  const side = {
    name: "side",
    image: "x",
    command: ["x"],
    restartPolicy: "Always",
    lifecycle: { postStart: { exec: { command: ["hook"] } } },
    startupProbe: { ...probe, failureThreshold: 30 },
  };
  const uid = await create("slow-side", { initContainers: [side] });
  const execs = () => runtime.started.filter(({ id }) => id.startsWith(`${uid}/side.exec/`));
  while (execs().length < 1) await clock.advance(10);
  expect(execs()[0]?.command).toEqual(["hook"]);
  await runtime.exit(execs()[0]?.id ?? "", 0);
  while (execs().length < 2) await clock.advance(10);
  await runtime.exit(execs()[1]?.id ?? "", 1);
  expect(runtime.started.some(({ id }) => id === `${uid}/main/0`)).toBe(false);
  while (execs().length < 3) await clock.advance(10);
  await runtime.exit(execs()[2]?.id ?? "", 0);
  await startedTask(`${uid}/main/0`);
  await runtime.exit(`${uid}/main/0`, 0);
  await until("slow-side", phaseIs("Succeeded"));
  expect(runtime.stops).toContainEqual({ id: `${uid}/side/0`, grace: 30_000 });
});

test("a postStart hook that fails ends its container", async () => {
  const lifecycle = { postStart: { exec: { command: ["hook"] } } };
  const uid = await probed("unhooked", { lifecycle });
  await runtime.exit(await startedExec(uid), 1);
  const over = await until("unhooked", phaseIs("Failed"));
  expect(mainOf(over)?.state.terminated).toMatchObject({ exitCode: 143 });
});

test("a pod removed by force has no time for a hook", async () => {
  const lifecycle = { preStop: { exec: { command: ["hook"] } } };
  const container = { name: "main", image: "x", command: ["stubborn"], lifecycle };
  const uid = await create("forced", { containers: [container] });
  await until("forced", phaseIs("Running"));
  await place.client.delete({ type: Pod, namespace: "default", name: "forced" }, { gracePeriodSeconds: 0 });
  while (runtime.stops.length === 0) await clock.advance(10);
  expect(runtime.stops[0]).toEqual({ id: `${uid}/main/0`, grace: 0 });
  expect(runtime.started.some(({ id }) => id.includes(".exec/"))).toBe(false);
});

test("a pod of another node is none of our business", async () => {
  const uid = await create("theirs", { nodeName: "another-node" });
  await clock.advance(5_000);
  const pod = await until("theirs", (one) => one !== undefined);
  expect(pod?.status?.containerStatuses).toBeUndefined();
  expect(runtime.started.filter(({ id }) => id.startsWith(uid))).toEqual([]);
});

test("a pod made again under its old name is another pod", async () => {
  const first = await create("twin");
  await startedTask(`${first}/main/0`);
  await place.client.delete({ type: Pod, namespace: "default", name: "twin" }, { gracePeriodSeconds: 0 });
  const second = await create("twin");
  await startedTask(`${second}/main/0`);
  expect(second).not.toBe(first);
  await runtime.exit(`${second}/main/0`, 0);
  await until("twin", phaseIs("Succeeded"));
  expect(runtime.find(`${first}/main/0`)).toBeUndefined();
});

test("a container that is lost while its server was away counts as one execution", async () => {
  const uid = await create("away", { restartPolicy: "OnFailure" });
  await startedTask(`${uid}/main/0`);
  await until("away", phaseIs("Running"));
  const { client } = place;
  const closed = place.close();
  await clock.advance(20_000);
  await closed;
  runtime.lose(`${uid}/main/0`);
  place = bench({ clock, client });
  addTestPodRunner(place.manager, runtime, directory.path);
  place.start();
  await startedTask(`${uid}/main/1`);
  await runtime.exit(`${uid}/main/1`, 0);
  const pod = await until("away", phaseIs("Succeeded"));
  expect(mainOf(pod)).toMatchObject({ restartCount: 1, lastState: { terminated: { exitCode: 137 } } });
});

const volumePath = (uid: string, path: string) => join(directory.path, "pods-root", "pods", uid, "volumes", path);

/** Moves the clock until a file of a pod's volume reads so. */
async function untilFile(uid: string, path: string, text: string): Promise<void> {
  while ((await readFile(volumePath(uid, path), "utf8").catch(() => undefined)) !== text) await clock.advance(100);
}

const patchOf = (type: ResourceType, name: string, body: JsonObject) =>
  place.client.patch({ type, namespace: "default", name }, { type: "merge", body });

test("files follow their objects and the labels of their pod, with a token between them, also after a restart", async () => {
  const more = { issueToken: async () => ({ token: "token", expiresAt: clock.now() + 3_600_000 }) };
  const { client } = place;
  const begin = async (meanwhile: () => Promise<unknown>) => {
    const closed = place.close();
    await clock.advance(20_000);
    await closed;
    await meanwhile();
    place = bench({ clock, client });
    addTestPodRunner(place.manager, runtime, directory.path, more);
    place.start();
  };
  await begin(async () => undefined);
  const metadata = { name: "c", namespace: "default" };
  await client.create(ConfigMap, { apiVersion: "v1", kind: "ConfigMap", metadata, data: { a: "1", b: "1" } });
  const sources = [
    { configMap: { name: "c" } },
    { configMap: { name: "later", optional: true } },
    { serviceAccountToken: { path: "token" } },
    { downwardAPI: { items: [{ path: "app", fieldRef: { fieldPath: "metadata.labels['app']" } }] } },
  ];
  const container = {
    name: "main",
    image: "x",
    command: ["x"],
    volumeMounts: [{ name: "v", mountPath: "/part", subPath: "a" }],
  };
  const uid = await create("follows", { containers: [container], volumes: [{ name: "v", projected: { sources } }] });
  await startedTask(`${uid}/main/0`);
  await untilFile(uid, "v/a", "1");
  await patchOf(ConfigMap, "c", { data: { a: "2", b: null } });
  await untilFile(uid, "v/a", "2");
  expect((await readdir(volumePath(uid, "v"))).filter((name) => !name.startsWith(".."))).toEqual(["a", "app", "token"]);
  await client.create(ConfigMap, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { ...metadata, name: "later" },
    data: { l: "1" },
  });
  await untilFile(uid, "v/l", "1");
  await patchOf(Pod, "follows", { metadata: { labels: { app: "web" } } });
  await untilFile(uid, "v/app", "web");
  await untilFile(uid, "v/token", "token");
  // What it mounts in part is what it began with.
  const part = runtime.started.find(({ id }) => id === `${uid}/main/0`)?.mounts?.[0]?.source ?? "";
  expect(await readFile(part, "utf8")).toBe("1");
  await begin(() => patchOf(ConfigMap, "c", { data: { a: "3" } }));
  await untilFile(uid, "v/a", "3");
});

test("streams lead into containers that run, and end with them", async () => {
  const request = { container: "main", stdin: false, terminal: false };
  const pending = await place.client.create(Pod, shellPod("other", "x", { nodeName: "elsewhere" }));
  await expect(sessions.check(pending, request, "exec")).rejects.toThrow('container not found ("main"): it is waiting');
  const uid = await create("reached");
  await startedTask(`${uid}/main/0`);
  const pod = (await until("reached", (one) => one?.status?.phase === "Running")) as Stored<PodObject>;
  await sessions.check(pod, request, "exec");
  await expect(sessions.check(pod, { ...request, stdin: true }, "attach")).rejects.toThrow("has no stdin to attach");
  runtime.print(`${uid}/main/0`, "before\n");
  const attached = await sessions.attach(pod, request);
  const running = await sessions.exec(pod, ["id", "-u"], request);
  expect(besides.at(-1)).toMatchObject({ command: ["id", "-u"], isKilled: false });
  attached.stderr?.resume();
  let said = "";
  attached.stdout.on("data", (bytes: Buffer) => (said += bytes.toString()));
  // Where "from now on" begins is known when the first of it comes.
  await expect
    .poll(() => {
      runtime.print(`${uid}/main/0`, "tick\n");
      return said;
    })
    .toMatch(/tick\n$/);
  runtime.print(`${uid}/main/0`, "last\n");
  await runtime.exit(`${uid}/main/0`, 3);
  expect(await running.ended).toBe(137);
  expect(besides.at(-1)?.isKilled).toBe(true);
  expect(await attached.ended).toBe(0);
  expect(said).toMatch(/last\n$/);
  const over = await until("reached", (one) => one?.status?.phase === "Failed");
  await expect(sessions.check(over as Stored<PodObject>, request, "exec")).rejects.toThrow("in a completed pod");
});
