import { readlinkSync } from "node:fs";
import { text } from "node:stream/consumers";
import { access, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Clock, FakeClock, systemClock } from "#lib/base/index.ts";
import { memoryClient } from "#kernel/kit/testing/index.ts";
import { ConfigMap, Event, type KubeObject, Pod, Secret, type Stored } from "#kernel/model/index.ts";
import type { Runtime, PodSessions } from "#kernel/runtimes/index.ts";
import { temporaryDirectory, testRuntime } from "#kernel/runtimes/testing/index.ts";
import { inheritedFiles } from "../../src/kernel/runtimes/process/inherited-files.ts";
import { openStore } from "../../src/kernel/apiserver/store/open.ts";
import { isFinished, type PodObject } from "#kernel/workloads/pod-types.ts";
import { addTestPodRunner, bench, type Bench, shellPod } from "#kernel/workloads/testing/index.ts";
import { createPodLogs } from "#kernel/workloads/index.ts";
import { within } from "#test/support/within.ts";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let runtime: Runtime;
let place: Bench;
let sessions: PodSessions;

function openPlace(client = memoryClient(), clock: Clock = systemClock): Bench {
  const opened = bench({ client, clock });
  sessions = addTestPodRunner(opened.manager, runtime, directory.path);
  opened.start();
  return opened;
}

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

const logs = () => createPodLogs({ directory: join(directory.path, "pods-root"), runtime, clock: systemClock });

async function logOf(pod: KubeObject, options = {}): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of await logs().open(pod, options)) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

const until = (name: string, holds: (pod: Stored<PodObject> | undefined) => boolean) =>
  place.until<PodObject>(Pod, name, holds);

async function run(pod: PodObject): Promise<Stored<PodObject>> {
  await place.client.create(Pod, pod);
  const ended = await until(pod.metadata.name ?? "", (one) => one !== undefined && isFinished(one));
  if (ended === undefined) throw new Error("the pod is gone");
  return ended;
}

const isRunning = (pod: Stored<PodObject> | undefined) => pod?.status?.phase === "Running";
/** Resolves when the pod has printed this: then its traps are set. A container runs before its first line does. */
const says = (pod: KubeObject | undefined, text: string) => expect.poll(() => logOf(pod as KubeObject)).toContain(text);
/** Resolves when an event has this text in the field; events are written beside the pod's own way. */
async function eventWith(field: "reason" | "note", text: string): Promise<void> {
  const stop = new AbortController();
  for await (const { object } of place.client.watch(Event, { namespace: "default", signal: stop.signal })) {
    if (Reflect.get(object, field) === text) stop.abort();
  }
}

const configMap = (name: string, data: Record<string, string>) =>
  place.client.create(ConfigMap, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace: "default" },
    data,
  } as KubeObject);

test("commands run beside containers, init containers too: among their files, with their variables, until these end", async () => {
  await configMap("settings", { greeting: "hello" });
  const volumes = [
    { name: "settings", configMap: { name: "settings" } },
    { name: "scratch", emptyDir: {} },
  ];
  const volumeMounts = [
    { name: "settings", mountPath: "/etc/slipway-settings" },
    { name: "scratch", mountPath: "/slipway-scratch" },
  ];
  const wait = "until [ -e /slipway-scratch/go ]; do sleep 0.05; done; rm /slipway-scratch/go; seq 20000";
  const pod = shellPod("reached", `echo main; ${wait}`, { volumes });
  const [main] = pod.spec.containers;
  if (main === undefined) throw new Error("no container");
  const init = { ...main, name: "init", command: ["sh", "-c", `echo init; ${wait}`], volumeMounts };
  const containers = [{ ...main, volumeMounts, env: [{ name: "WHO", value: "main" }] }];
  await place.client.create(Pod, { ...pod, spec: { ...pod.spec, initContainers: [init], containers } });
  const reached = { type: Pod, namespace: "default", name: "reached" };
  const run = async (container: string, script: string) => {
    const present = await place.client.get(reached);
    const request = { container, stdin: false, terminal: false };
    const running = await sessions.exec(present, ["sh", "-c", script], request);
    running.stderr?.resume();
    return { said: await text(running.stdout), code: await running.ended };
  };
  const present = await until("reached", (one) => one?.status?.initContainerStatuses?.[0]?.state.running !== undefined);
  await expect(run("main", "true")).rejects.toThrow('container not found ("main"): it is waiting to start');
  const script = 'cat /etc/slipway-settings/greeting; echo " $WHO"; touch /slipway-scratch/go; exit 4';
  expect(await run("init", script)).toEqual({ said: "hello \n", code: 4 });
  await until("reached", isRunning);
  await says(present, "main");
  const request = { container: "main", stdin: true, terminal: false };
  const held = await sessions.exec(await place.client.get(reached), ["cat"], request);
  const attached = await sessions.attach(await place.client.get(reached), { ...request, stdin: false });
  attached.stderr?.resume();
  expect(await run("main", script)).toEqual({ said: "hello main\n", code: 4 });
  const ended = await until("reached", (one) => one !== undefined && isFinished(one));
  // Who listens hears what it said last, also when he is slow.
  expect((await text(attached.stdout)).split("\n").slice(-2)).toEqual(["20000", ""]);
  // What was still under way has ended with its container.
  expect(await held.ended).toBe(137);
  await expect(sessions.exec(ended as KubeObject, ["true"], request)).rejects.toThrow("in a completed pod");
});

test("a pod echoes, succeeds, and its log is read back", async () => {
  const pod = await run(shellPod("hello", "echo hello; echo world >&2"));
  expect(pod.status).toMatchObject({
    phase: "Succeeded",
    containerStatuses: [{ name: "main", state: { terminated: { exitCode: 0, reason: "Completed" } }, restartCount: 0 }],
  });
  expect(pod.spec.nodeName).toBe("test-node");
  expect((await logOf(pod)).split("\n").sort()).toEqual(["", "hello", "world"]);
});

test("a process has none of the files that the server has open", async () => {
  // LMDB opens its file so that children have it, too.
  const store = await openStore(join(directory.path, "store"));
  const open = () => inheritedFiles().map((descriptor) => readlinkSync(`/proc/self/fd/${descriptor}`));
  expect(open()).toContain(join(directory.path, "store/store.mdb"));
  const pod = await run(shellPod("curious", "readlink /proc/self/fd/* || true"));
  expect(await logOf(pod)).toContain("/dev/null");
  expect(await logOf(pod)).not.toContain("store");
  await store.close();
});

test("a short pod costs two writes: its binding and its end", async () => {
  await place.close();
  // What is short is a matter of the clock. This one stands still, however long the machine takes.
  place = openPlace(memoryClient(), new FakeClock());
  const pod = await run(shellPod("short", "true"));
  const created = (await place.client.list(Pod)).items[0];
  expect(created?.metadata.uid).toBe(pod.metadata.uid);
  const versions: string[] = [];
  const stop = new AbortController();
  for await (const event of place.client.watch<PodObject>(Pod, { resourceVersion: "1", signal: stop.signal })) {
    versions.push(event.type);
    if (event.type !== "BOOKMARK" && isFinished(event.object)) stop.abort();
  }
  expect(versions).toEqual(["ADDED", "MODIFIED", "MODIFIED"]);
});

test("what the process writes to $SLIPWAY_OUTPUT is the termination message", async () => {
  const pod = await run(shellPod("output", 'printf \'{"a":1}\' > "$SLIPWAY_OUTPUT"; echo noise'));
  expect(pod.status?.containerStatuses?.[0]?.state.terminated?.message).toBe('{"a":1}');
});

test("a variable that names the path of the document leads to the same file", async () => {
  const base = shellPod("output", 'echo here > "$SLIPWAY_OUTPUT"');
  const [main] = base.spec.containers;
  if (main === undefined) throw new Error("no container");
  const env = [{ name: "SLIPWAY_OUTPUT", value: "/dev/termination-log" }];
  const pod = await run({ ...base, spec: { ...base.spec, containers: [{ ...main, env }] } });
  expect(pod.status?.containerStatuses?.[0]?.state.terminated?.message).toBe("here\n");
});

test("a container that made a pipe of its message file ends all the same", async () => {
  // Somebody who has left the container's group holds it open, so that reading it would neither end nor give anything.
  const holder = 'setsid sh -c "exec 3<>$SLIPWAY_OUTPUT; echo held; exec sleep 20" &';
  const pipe = 'rm "$SLIPWAY_OUTPUT"; mkfifo "$SLIPWAY_OUTPUT"';
  const pod = await run(shellPod("piped", `${pipe}; ${holder} sleep 0.3; exit 3`));
  const { terminated } = pod.status?.containerStatuses?.[0]?.state ?? {};
  expect(terminated).toMatchObject({ exitCode: 3 });
  expect(terminated?.message).toBeUndefined();
});

test("init containers run one after the other before the others, and a failed one fails the pod", async () => {
  const file = join(directory.path, "order");
  const step = (name: string, code = 0) => ({
    name,
    image: "x",
    command: ["/bin/sh", "-c", `echo ${name} >> ${file}; exit ${code}`],
  });
  const initContainers = [step("first"), step("second")];
  await run(shellPod("good", `echo main >> ${file}`, { initContainers }));
  expect(await readFile(file, "utf8")).toBe("first\nsecond\nmain\n");
  const bad = await run(shellPod("bad", "true", { initContainers: [step("broken", 3), step("never")] }));
  expect(bad.status).toMatchObject({
    phase: "Failed",
    initContainerStatuses: [
      { state: { terminated: { exitCode: 3 } } },
      { state: { waiting: { reason: "PodInitializing" } } },
    ],
  });
  expect(await readFile(file, "utf8")).not.toContain("never");
});

test("variables come from fields, ConfigMaps and Secrets, and refer to each other", async () => {
  await configMap("settings", { color: "blue", size: "9" });
  await place.client.create(Secret, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "keys", namespace: "default" },
    data: { token: Buffer.from("s3cret").toString("base64") },
  } as KubeObject);
  const base = shellPod("env", 'echo "$COLOR $P_size $TOKEN $POD $BOTH $HOME_SET"');
  const [main] = base.spec.containers;
  if (main === undefined) throw new Error("no container");
  const container = {
    ...main,
    envFrom: [{ prefix: "P_", configMapRef: { name: "settings" } }],
    env: [
      { name: "COLOR", valueFrom: { configMapKeyRef: { name: "settings", key: "color" } } },
      { name: "TOKEN", valueFrom: { secretKeyRef: { name: "keys", key: "token" } } },
      { name: "POD", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      { name: "BOTH", value: "$(COLOR)-$(POD)-$(NONE)-$$(COLOR)" },
    ],
  };
  const pod = await run({ ...base, spec: { ...base.spec, containers: [container] } });
  expect(await logOf(pod)).toBe("blue 9 s3cret env blue-env-$(NONE)-$(COLOR) \n");
});

test("values that a pod keeps out of its logs are in no log and in no termination message", async () => {
  const data = { token: Buffer.from("hunter22").toString("base64") };
  const metadata = { name: "keys", namespace: "default" };
  await place.client.create(Secret, { apiVersion: "v1", kind: "Secret", metadata, data } as KubeObject);
  const says = 'echo "word=$WORD" > "$SLIPWAY_OUTPUT"; echo "token=$TOKEN" >> "$SLIPWAY_OUTPUT"';
  const script = `printf 'a hunt'; sleep 0.4; echo er22; echo "$TOKEN" >&2; echo plain-word | base64; ${says}; exit 3`;
  const pod = shellPod("masked", script);
  const [main] = pod.spec.containers;
  const env = [
    { name: "TOKEN", valueFrom: { secretKeyRef: { name: "keys", key: "token" } } },
    { name: "WORD", value: "plain-word" },
  ];
  const silent = ["sh", "-c", 'echo "$TOKEN"; exit 3'];
  const policy = { terminationMessagePolicy: "FallbackToLogsOnError" };
  const containers = [
    { ...main, name: "main", env, ...policy },
    { ...main, name: "silent", env, ...policy, command: silent, args: [] },
  ];
  const annotations = { "slipway.dev/mask-env": "WORD" };
  const ended = await run({
    ...pod,
    metadata: { ...pod.metadata, annotations },
    spec: { ...pod.spec, containers, restartPolicy: "Never" },
  });
  const log = await logOf(ended, { container: "main" });
  expect(log.split("\n").sort()).toEqual(["", "***", "***", "a ***"]);
  const messages = ended.status?.containerStatuses?.map(({ state }) => state.terminated?.message);
  expect(messages).toEqual(["word=***\ntoken=***\n", "***\n"]);
});

test("what is said of a program that is not there, or a directory, has no masked values, nor have events", async () => {
  const metadata = { name: "paths", namespace: "default" };
  const data = { token: Buffer.from("hunter22").toString("base64") };
  await place.client.create(Secret, { apiVersion: "v1", kind: "Secret", metadata, data } as KubeObject);
  const pod = shellPod("named", "true");
  const [main] = pod.spec.containers;
  const env = [{ name: "TOKEN", valueFrom: { secretKeyRef: { name: "paths", key: "token" } } }];
  const containers = [
    { ...main, name: "program", env, command: ["$(TOKEN)"], args: [] },
    { ...main, name: "directory", env, workingDir: "/$(TOKEN)" },
  ];
  const ended = await run({
    ...pod,
    metadata: { ...pod.metadata, annotations: { "slipway.dev/mask-env": "" } },
    spec: { ...pod.spec, containers, restartPolicy: "Never" },
  });
  const messages = ended.status?.containerStatuses?.map(({ state }) => state.terminated?.message);
  expect(messages).toEqual(["program *** was not found", "working directory /*** does not exist"]);
  await eventWith("note", "started container program: $(TOKEN)");
});

test("a pod waits for a missing ConfigMap, says so, and starts when it comes", async () => {
  const base = shellPod("patient", "echo $COLOR");
  const [main] = base.spec.containers;
  if (main === undefined) throw new Error("no container");
  const env = [{ name: "COLOR", valueFrom: { configMapKeyRef: { name: "late", key: "color" } } }];
  await place.client.create(Pod, { ...base, spec: { ...base.spec, containers: [{ ...main, env }] } });
  const waiting = await until("patient", (pod) => pod?.status?.containerStatuses !== undefined);
  expect(waiting?.status).toMatchObject({
    phase: "Pending",
    containerStatuses: [
      { state: { waiting: { reason: "CreateContainerConfigError", message: 'configmap "late" not found' } } },
    ],
  });
  await expect(logs().open(waiting as KubeObject, {})).rejects.toThrow(
    'container "main" in pod "patient" is waiting to start: CreateContainerConfigError',
  );
  await configMap("late", { color: "red" });
  const ended = await until("patient", (pod) => pod !== undefined && isFinished(pod));
  expect(await logOf(ended as KubeObject)).toBe("red\n");
});

test("a deleted pod gets its grace, then its object and its files go", async () => {
  await place.client.create(
    Pod,
    shellPod("stays", `trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done`),
  );
  const pod = await until("stays", isRunning);
  await says(pod, "up");
  const followed = logOf(pod as KubeObject, { follow: true });
  await place.client.delete({ type: Pod, namespace: "default", name: "stays" }, { gracePeriodSeconds: 20 });
  await until("stays", (one) => one === undefined);
  expect(await followed).toMatch(/^up\n(.*\n)?bye\n$/);
  await expect(access(join(directory.path, "pods-root", "pods", pod?.metadata.uid ?? ""))).rejects.toMatchObject({
    code: "ENOENT",
  });
});

test("a preStop command runs before TERM", async () => {
  const file = join(directory.path, "hook");
  const base = shellPod("hooked", `trap 'echo term >> ${file}; exit 0' TERM; echo up; while :; do sleep 0.05; done`);
  const [main] = base.spec.containers;
  if (main === undefined) throw new Error("no container");
  const lifecycle = { preStop: { exec: { command: ["/bin/sh", "-c", `echo hook >> ${file}`] } } };
  await place.client.create(Pod, { ...base, spec: { ...base.spec, containers: [{ ...main, lifecycle }] } });
  await says(await until("hooked", isRunning), "up");
  await place.client.delete({ type: Pod, namespace: "default", name: "hooked" }, { gracePeriodSeconds: 20 });
  await until("hooked", (one) => one === undefined);
  expect(await readFile(file, "utf8")).toBe("hook\nterm\n");
});

test("a pod removed by force is killed", async () => {
  const file = join(directory.path, "pid");
  await place.client.create(Pod, shellPod("forced", `echo $$ > ${file}; trap '' TERM; while :; do sleep 0.05; done`));
  const pod = await until("forced", isRunning);
  const ended = new Promise<void>((resolve) => {
    runtime.subscribe((status) => {
      if (status.id.startsWith(pod?.metadata.uid ?? "?") && status.state.phase === "ended") resolve();
    });
  });
  await place.client.delete({ type: Pod, namespace: "default", name: "forced" }, { gracePeriodSeconds: 0 });
  await within(60_000, "the task ends", ended);
});

test("what the runtime cannot do is refused or told by name", async () => {
  const base = shellPod("demanding", "true");
  const [main] = base.spec.containers;
  if (main === undefined) throw new Error("no container");
  const limits = { cpu: "1" };
  const warned = await run({
    ...base,
    spec: { ...base.spec, containers: [{ ...main, resources: { limits }, stdin: true }] },
  });
  expect(warned.status?.phase).toBe("Succeeded");
  await eventWith(
    "note",
    'the process runtime does not apply: container "main": resources.limits, container "main": stdin',
  );
  const refused = await run(shellPod("shares", "true", { volumes: [{ name: "v", nfs: {} }] }));
  expect(refused.status).toMatchObject({
    phase: "Failed",
    reason: "UnsupportedPod",
    message: 'the process runtime cannot do what the pod asks for: volume "v" of type nfs',
  });
  expect(refused.status?.containerStatuses).toEqual([]);
  await expect(logs().open(refused, {})).rejects.toThrow(
    'container "main" in pod "shares" was never started: UnsupportedPod: the process runtime cannot do',
  );
  expect(
    refused.status?.conditions?.some(({ type, status }) => type === "slipway.dev/Refused" && status === "True"),
  ).toBe(true);
});

test("users can follow what happens by events", async () => {
  await run(shellPod("told", "true"));
  await Promise.all(["Scheduled", "Created", "Started"].map((reason) => eventWith("reason", reason)));
  await eventWith("note", "created container main on the process runtime; image busybox is not used");
});

test("a pod for another kind of node stays and says why", async () => {
  await place.client.create(Pod, shellPod("elsewhere", "true", { nodeSelector: { disk: "ssd" } }));
  const pod = await until("elsewhere", (one) => one?.status?.conditions !== undefined);
  expect(pod?.status?.conditions).toMatchObject([{ type: "PodScheduled", status: "False", reason: "Unschedulable" }]);
  expect(pod?.spec.nodeName).toBeUndefined();
});

test("a server that comes back adopts what runs, learns what ended, and kills what nobody knows", async () => {
  const file = join(directory.path, "runs");
  const gate = join(directory.path, "gate");
  const script = (code: number) => `echo run >> ${file}; while [ ! -e ${gate} ]; do sleep 0.02; done; exit ${code}`;
  await place.client.create(Pod, shellPod("adopted", script(0)));
  await place.client.create(Pod, shellPod("ended", script(4)));
  await place.client.create(Pod, shellPod("stranger", "sleep 3600"));
  await Promise.all([until("adopted", isRunning), until("ended", isRunning), until("stranger", isRunning)]);
  const { client } = place;
  await place.close();
  await client.delete({ type: Pod, namespace: "default", name: "stranger" }, { gracePeriodSeconds: 0 });
  await writeFile(gate, "");
  place = openPlace(client);
  const adopted = await until("adopted", (pod) => pod !== undefined && isFinished(pod));
  const ended = await until("ended", (pod) => pod !== undefined && isFinished(pod));
  expect(adopted?.status?.phase).toBe("Succeeded");
  expect(ended?.status?.containerStatuses?.[0]?.state.terminated?.exitCode).toBe(4);
  expect(await readFile(file, "utf8")).toBe("run\nrun\n");
  await vanished();
});

/** Resolves when the runtime runs nothing any more. */
function vanished(): Promise<void> {
  const nothing = new Promise<void>((resolve) => {
    const look = async () => {
      const tasks = await runtime.list();
      if (tasks.some(({ state }) => state.phase !== "ended")) return;
      cancel();
      resolve();
    };
    const cancel = runtime.subscribe(() => void look());
    void look();
  });
  return within(60_000, "the runtime runs nothing", nothing);
}

describe.skipIf(process.getuid?.() !== 0)("volumes on a machine where mounting is possible", () => {
  test("ConfigMaps, Secrets, empty directories and host directories appear where they are mounted", async () => {
    await configMap("files", { "a.txt": "from the map", "b.txt": "not wanted" });
    const at = (name: string) => join(directory.path, "mnt", name);
    const base = shellPod(
      "mounted",
      `cat ${at("config")}/renamed; cat ${at("info")}/name; echo x > ${at("empty")}/new && ls ${at("empty")}; ls ${at("single")}; echo no > ${at("config")}/x`,
      {
        volumes: [
          { name: "config", configMap: { name: "files", items: [{ key: "a.txt", path: "renamed", mode: 0o600 }] } },
          { name: "empty", emptyDir: {} },
          { name: "info", downwardAPI: { items: [{ path: "name", fieldRef: { fieldPath: "metadata.name" } }] } },
        ],
      },
    );
    const [main] = base.spec.containers;
    if (main === undefined) throw new Error("no container");
    const volumeMounts = [
      { name: "config", mountPath: at("config") },
      { name: "empty", mountPath: at("empty") },
      { name: "info", mountPath: at("info") },
      { name: "config", mountPath: at("single"), subPath: "renamed" },
    ];
    const pod = await run({ ...base, spec: { ...base.spec, containers: [{ ...main, volumeMounts }] } });
    const log = await logOf(pod);
    expect(log).toContain("from the mapmountednew\n");
    expect(log).toContain("Read-only file system");
  });

  test("a script that writes to the path of the document is heard", async () => {
    const pod = await run(shellPod("literal", "echo spoken > /dev/termination-log"));
    expect(pod.status?.containerStatuses?.[0]?.state.terminated?.message).toBe("spoken\n");
  });
});
