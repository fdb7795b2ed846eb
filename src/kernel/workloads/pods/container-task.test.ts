import { expect, test } from "vitest";
import { err, ok } from "#lib/base/index.ts";
import type { AccountTokenSource, Container, EnvVar, PodObject, PodSpec } from "../pod-types.ts";
import { shellPod, testNode } from "../testing/index.ts";
import type { Sources } from "./config-sources.ts";
import { sourcesOf } from "./config-sources.ts";
import { containerTask } from "./container-task.ts";
import { expandVariables } from "#lib/text/index.ts";
import { fieldValue, resourceValue } from "./pod-fields.ts";
import { podPaths } from "./pod-paths.ts";
import { supportFor } from "./support.ts";
import { volumeContent } from "./volumes.ts";

const podWith = (container: Partial<Container>, spec: Partial<PodSpec> = {}): PodObject => {
  const pod = shellPod("p", "true", spec);
  const main = { name: "main", image: "x", command: ["/bin/sh"], ...container };
  return {
    ...pod,
    metadata: { ...pod.metadata, uid: "u", labels: { app: "web" } },
    spec: { ...pod.spec, containers: [main] },
  };
};

const sources: Sources = new Map([
  [
    "ConfigMap/c",
    new Map([
      ["k", Buffer.from("v")],
      ["bad key", Buffer.from("x")],
    ]),
  ],
  ["Secret/s", new Map([["t", Buffer.from([0xff, 0x00])]])],
  ["Secret/words", new Map([["one", Buffer.from("hunter22")]])],
]);

function taskOf(pod: PodObject, canMount = true) {
  const [container] = pod.spec.containers;
  if (container === undefined) throw new Error("no container");
  return containerTask({
    pod,
    container,
    restart: 0,
    node: testNode,
    sources,
    base: { PATH: "/bin" },
    paths: podPaths("/root", pod),
    workingDirectory: "/work",
    canMount,
  });
}

const taskFor = (container: Partial<Container>, spec: Partial<PodSpec> = {}, canMount = true) => {
  const task = taskOf(podWith(container, spec), canMount);
  if (!task.ok) throw new Error(task.error.join("; "));
  return task.value;
};

test.each([
  ["a $(X) b", "a 1 b"],
  ["$(MISSING)", "$(MISSING)"],
  ["$$(X)", "$(X)"],
  ["$$$(X)", "$1"],
  ["cost $5 $(", "cost $5 $("],
  ["$(Y)", "$(X)"],
])("%j expands to %j, once", (text, expected) => {
  expect(expandVariables(text, (name) => ({ X: "1", Y: "$(X)" })[name])).toBe(expected);
});

test("a task is the command with its arguments, expanded by its own variables", () => {
  const env = [{ name: "WHO", value: "world" }];
  const task = taskFor({ command: ["echo", "hello $(WHO)"], args: ["$(NOBODY)"], env, workingDir: "sub" });
  expect(task).toMatchObject({
    id: "u/main/0",
    command: ["echo", "hello world", "$(NOBODY)"],
    workingDirectory: "/work/sub",
    logPath: "/root/logs/default/p/u/main/0.log",
  });
  expect(task.env).toEqual({ PATH: "/bin", HOSTNAME: "p", WHO: "world", SLIPWAY_OUTPUT: "/root/pods/u/output/main/0" });
});

test("a task has the names of the variables that a Pod keeps out of its logs, and none otherwise", () => {
  const container = { env: [{ name: "A", valueFrom: { secretKeyRef: { name: "s", key: "t" } } }] };
  const asking = podWith(container);
  const annotated = { ...asking, metadata: { ...asking.metadata, annotations: { "slipway.dev/mask-env": "" } } };
  const task = taskOf(annotated);
  expect(task.ok && task.value.maskedVariables).toEqual(["A"]);
  expect(taskFor(container)).not.toHaveProperty("maskedVariables");
});

test("what is said of a path goes without masked values, whatever made it", () => {
  const pod = podWith({
    env: [{ name: "A", valueFrom: { secretKeyRef: { name: "words", key: "one" } } }],
    volumeMounts: [{ name: "v", mountPath: "/m", subPathExpr: "../$(A)" }],
  });
  const volumes = [{ name: "v", emptyDir: {} }];
  const task = taskOf({
    ...pod,
    metadata: { ...pod.metadata, annotations: { "slipway.dev/mask-env": "" } },
    spec: { ...pod.spec, volumes },
  });
  expect(task).toEqual({ ok: false, error: ["subPath ../*** must be relative and stay inside the volume"] });
});

test("every reason why an environment cannot be made is told at once", () => {
  const from = (name: string, valueFrom: NonNullable<EnvVar["valueFrom"]>): EnvVar => ({ name, valueFrom });
  const task = taskOf(
    podWith({
      env: [
        from("A", { configMapKeyRef: { name: "none", key: "k" } }),
        from("B", { secretKeyRef: { name: "s", key: "none" } }),
        from("C", { secretKeyRef: { name: "none", key: "k", optional: true } }),
      ],
      envFrom: [{ secretRef: { name: "gone" } }, { configMapRef: { name: "gone", optional: true } }],
    }),
  );
  expect(task).toEqual({
    ok: false,
    error: ['secret "gone" not found', 'configmap "none" not found', "couldn't find key none in Secret s"],
  });
});

test("keys that are no names of variables are left out", () => {
  expect(taskFor({ envFrom: [{ configMapRef: { name: "c" } }] }).env).toMatchObject({ k: "v" });
  expect(Object.keys(taskFor({ envFrom: [{ configMapRef: { name: "c" } }] }).env)).not.toContain("bad key");
});

test("a volume is mounted where the container says, a made one for reading only", () => {
  const volumes = [
    { name: "c", configMap: { name: "c" } },
    { name: "e", emptyDir: {} },
    { name: "h", hostPath: { path: "/srv" } },
    { name: "w", persistentVolumeClaim: { claimName: "w" } },
    { name: "r", persistentVolumeClaim: { claimName: "r", readOnly: true } },
  ];
  const volume = "/root/pods/u/volumes";
  const volumeMounts = [
    { name: "c", mountPath: "/etc/c" },
    { name: "e", mountPath: "/data", subPathExpr: "$(HOSTNAME)" },
    { name: "h", mountPath: "/srv" },
    { name: "h", mountPath: "/other", readOnly: true },
    { name: "w", mountPath: "/w", subPath: "part" },
    { name: "r", mountPath: "/r" },
  ];
  expect(taskFor({ volumeMounts }, { volumes }).mounts).toEqual([
    { source: `${volume}/c`, within: `${volume}/c`, target: "/etc/c", readOnly: true },
    { source: `${volume}/e/p`, within: `${volume}/e`, target: "/data", readOnly: false },
    { source: "/srv", within: "/srv", target: "/other", readOnly: true },
    { source: `${volume}/w/part`, within: `${volume}/w`, target: "/w", readOnly: false },
    { source: `${volume}/r`, within: `${volume}/r`, target: "/r", readOnly: true },
  ]);
});

test("the path of the termination message is mounted only when the container speaks of it", () => {
  const target = "/dev/termination-log";
  const within = "/root/pods/u/output/main";
  const mount = { source: `${within}/0`, within, target, readOnly: false };
  expect(taskFor({ command: ["sh", "-c", `echo x > ${target}`] }).mounts).toEqual([mount]);
  expect(taskFor({ terminationMessagePath: "/tmp/message" }).mounts).toEqual([{ ...mount, target: "/tmp/message" }]);
  expect(taskFor({ securityContext: { runAsUser: 5 } })).toMatchObject({ mounts: [mount], user: { uid: 5, gid: 5 } });
  expect(taskFor({ env: [{ name: "SLIPWAY_OUTPUT", value: target }] })).toMatchObject({
    env: { SLIPWAY_OUTPUT: "/root/pods/u/output/main/0" },
  });
  expect(taskFor({ command: ["sh", "-c", `echo x > ${target}`] }, {}, false).mounts).toBeUndefined();
});

test("fields of the pod are texts", () => {
  const pod = podWith({});
  const read = (path: string) => fieldValue(pod, path, testNode);
  expect(read("metadata.labels['app']")).toEqual({ ok: true, value: "web" });
  expect(read("metadata.labels")).toEqual({ ok: true, value: 'app="web"' });
  expect(read("metadata.annotations['none']")).toEqual({ ok: true, value: "" });
  expect(read("spec.nodeName")).toEqual({ ok: true, value: "test-node" });
  expect(read("spec.serviceAccountName")).toEqual({ ok: true, value: "default" });
  expect(read("spec.secret").ok).toBe(false);
});

test.each([
  ["limits.memory", "1Mi", "64"],
  ["limits.cpu", "1m", "1500"],
  ["limits.cpu", undefined, "2"],
  ["requests.cpu", "1", "0"],
  ["limits.ephemeral-storage", undefined, undefined],
])("resource %s in units of %s is %s", (resource, divisor, expected) => {
  const pod = podWith({ resources: { limits: { memory: "64Mi", cpu: "1500m" } } });
  const [container] = pod.spec.containers;
  if (container === undefined) throw new Error("no container");
  const value = resourceValue(pod, { resource, ...(divisor === undefined ? {} : { divisor }) }, container, testNode);
  expect(value.ok ? value.value : undefined).toBe(expected);
});

test("without a limit a container may use what the machine has", () => {
  const pod = podWith({});
  const [container] = pod.spec.containers;
  if (container === undefined) throw new Error("no container");
  expect(resourceValue(pod, { resource: "limits.cpu" }, container, testNode)).toEqual({ ok: true, value: "4" });
});

const claim = (name: string) => (name === "c" ? ok(`/volumes/${name}`) : err(`no ${name}`));

const tokenOf = ({ audience }: AccountTokenSource) => (audience === "them" ? err("no token") : ok("secret-word"));

test("a token is a file among the others, or the reason why there is no volume", () => {
  const input = { pod: podWith({}), node: testNode, sources, claim, tokenOf };
  const volume = (source: AccountTokenSource) => ({
    name: "v",
    projected: { sources: [{ serviceAccountToken: source }], defaultMode: 0o400 },
  });
  const data = Buffer.from("secret-word");
  expect(volumeContent(volume({ path: "in/token" }), input)).toEqual({
    ok: true,
    value: { kind: "files", files: [{ path: "in/token", data, mode: 0o400 }] },
  });
  expect(volumeContent(volume({ path: "t", audience: "them" }), input)).toEqual({
    ok: false,
    error: ["volume v: no token"],
  });
});

test("a claim is a volume when the pod can have it", () => {
  const volume = (claimName: string) => ({ name: "v", persistentVolumeClaim: { claimName } });
  const input = { pod: podWith({}), node: testNode, sources, claim, tokenOf };
  expect(volumeContent(volume("c"), input)).toEqual({ ok: true, value: { kind: "claim", path: "/volumes/c" } });
  expect(volumeContent(volume("d"), input)).toEqual({ ok: false, error: ["no d"] });
});

test("a volume of files has the wanted keys with their modes", () => {
  const pod = podWith({});
  const input = { pod, node: testNode, sources, claim, tokenOf };
  expect(
    volumeContent(
      { name: "v", configMap: { name: "c", defaultMode: 0o400, items: [{ key: "k", path: "a/b" }] } },
      input,
    ),
  ).toEqual({
    ok: true,
    value: { kind: "files", files: [{ path: "a/b", data: Buffer.from("v"), mode: 0o400 }] },
  });
  const projected = {
    sources: [
      { secret: { name: "s" } },
      { downwardAPI: { items: [{ path: "n", fieldRef: { fieldPath: "metadata.name" } }] } },
    ],
  };
  const both = volumeContent({ name: "v", projected }, input);
  expect(both.ok && both.value.kind === "files" ? both.value.files.map(({ path }) => path) : []).toEqual(["t", "n"]);
  expect(volumeContent({ name: "v", secret: { secretName: "no", optional: true } }, input)).toEqual({
    ok: true,
    value: { kind: "files", files: [] },
  });
});

test.each(["../out", "/abs", "a/../../b", "", "."])("a file at %j would leave its volume", (path) => {
  const input = { pod: podWith({}), node: testNode, sources, claim, tokenOf };
  const content = volumeContent({ name: "v", configMap: { name: "c", items: [{ key: "k", path }] } }, input);
  expect(content.ok ? [] : content.error).toEqual([
    `volume v: path ${path} must be relative and stay inside the volume`,
  ]);
});

test("everything a pod reads is known once", () => {
  const pod = podWith(
    {
      env: [{ name: "A", valueFrom: { configMapKeyRef: { name: "c", key: "k" } } }],
      envFrom: [{ configMapRef: { name: "c" } }, { secretRef: { name: "s" } }],
    },
    {
      volumes: [
        { name: "v", secret: { secretName: "s" } },
        { name: "w", projected: { sources: [{ configMap: { name: "d" } }] } },
      ],
    },
  );
  expect(sourcesOf(pod.spec).map(({ kind, name }) => `${kind}/${name}`)).toEqual([
    "ConfigMap/c",
    "Secret/s",
    "ConfigMap/d",
  ]);
});

const traits = {
  name: "process",
  isRoot: true,
  allowPrivileged: false,
  images: false,
  mounts: { supported: true } as const,
  users: true,
  limits: false,
};

test("a plain pod is taken without a word", () => {
  expect(supportFor(podWith({}), traits)).toEqual({ refusals: [], warnings: [] });
});

test("what cannot be done is named, all of it", () => {
  const pod = podWith(
    {
      command: [],
      volumeMounts: [{ name: "e", mountPath: "/data" }],
      securityContext: { runAsUser: 7, privileged: true },
    },
    {
      volumes: [
        { name: "e", emptyDir: { medium: "Memory" } },
        { name: "p", nfs: {} },
      ],
    },
  );
  const poor = { ...traits, users: false, mounts: { supported: false, reason: "mounting needs root" } as const };
  const { refusals, warnings } = supportFor(pod, poor);
  expect(refusals).toEqual([
    'volume "p" of type nfs',
    'container "main" without a command (there is no image to take it from)',
    'container "main": mounting volume "e" at /data (mounting needs root)',
    'container "main": securityContext.runAsUser (it needs root)',
  ]);
  expect(warnings).toEqual([
    'volume "e": emptyDir.medium (it is on disk)',
    'container "main": securityContext.privileged',
  ]);
});

test("a pod that must not be root is refused where it would be", () => {
  const pod = podWith({ securityContext: { runAsNonRoot: true } });
  expect(supportFor(pod, traits).refusals).toEqual([
    'container "main": securityContext.runAsNonRoot (it would run as root)',
  ]);
  expect(supportFor(pod, { ...traits, isRoot: false }).refusals).toEqual([]);
  expect(supportFor(podWith({ securityContext: { runAsNonRoot: true, runAsUser: 9 } }), traits).refusals).toEqual([]);
});
