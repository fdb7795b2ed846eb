import { expect, test } from "vitest";
import type { Container, EnvSource, EnvVar, PodObject } from "../pod-types.ts";
import { shellPod, testNode } from "../testing/index.ts";
import type { Sources } from "./config-sources.ts";
import { containerEnvironment } from "./environment.ts";

const text = (entries: Readonly<Record<string, string>>) =>
  new Map(Object.entries(entries).map(([key, value]) => [key, Buffer.from(value)]));
const sources: Sources = new Map([
  ["ConfigMap/c", text({ color: "blue", size: "9", "no name": "x", "1st": "y", __proto__x: "z" })],
  ["ConfigMap/d", text({ color: "red" })],
  ["Secret/s", text({ token: "s3cret", color: "secret" })],
]);

const shell = shellPod("p", "true");
const pod: PodObject = {
  ...shell,
  metadata: { ...shell.metadata, uid: "u", labels: { app: "web" }, annotations: { note: "a\nb" } },
  spec: { ...shell.spec, serviceAccountName: "robot" },
};

function environment(container: Partial<Container>, base: Readonly<Record<string, string>> = {}) {
  const main = { name: "main", resources: { limits: { memory: "64Mi" } }, ...container };
  const holder = { ...pod, spec: { ...pod.spec, containers: [main] } };
  return containerEnvironment({ pod: holder, container: main, node: testNode, sources, base });
}

const made = (container: Partial<Container>, base?: Readonly<Record<string, string>>): Record<string, string> => {
  const result = environment(container, base);
  if (!result.ok) throw new Error(result.error.join("; "));
  return { ...result.value };
};

test.each<[string, readonly EnvVar[], Record<string, string>]>([
  ["a value is taken as it is", [{ name: "A", value: "1" }], { A: "1" }],
  ["a variable without a value is empty", [{ name: "A" }], { A: "" }],
  [
    "a later variable sees an earlier one, not the other way round",
    [
      { name: "A", value: "$(B)" },
      { name: "B", value: "2" },
      { name: "C", value: "$(B)" },
    ],
    { A: "$(B)", B: "2", C: "2" },
  ],
  [
    "a variable may build on the former of its own name",
    [
      { name: "A", value: "1" },
      { name: "A", value: "$(A)2" },
    ],
    { A: "12" },
  ],
  [
    "what an expansion gives is not expanded again",
    [
      { name: "A", value: "$$(B)" },
      { name: "B", value: "$(A)" },
    ],
    { A: "$(B)", B: "$(B)" },
  ],
])("%s", (_name, env, expected) => {
  expect(made({ env })).toEqual(expected);
});

test.each(["constructor", "toString", "__proto__", "hasOwnProperty"])(
  "%s is a name like any other: without a value until it has one",
  (name) => {
    expect(made({ env: [{ name: "A", value: `$(${name})` }] })).toEqual({ A: `$(${name})` });
    const given = environment({
      env: [
        { name, value: "given" },
        { name: "A", value: `$(${name})` },
      ],
    });
    expect(given.ok && given.value["A"]).toBe("given");
    expect(given.ok && Object.hasOwn(given.value, name)).toBe(true);
  },
);

test.each<[string, readonly EnvSource[], Record<string, string>]>([
  [
    "all keys that are names become variables",
    [{ configMapRef: { name: "c" } }],
    { color: "blue", size: "9", __proto__x: "z" },
  ],
  [
    "a prefix makes names of what was none",
    [{ prefix: "V_", configMapRef: { name: "c" } }],
    { V_color: "blue", V_size: "9", V_1st: "y", V___proto__x: "z" },
  ],
  [
    "a later source wins",
    [{ configMapRef: { name: "d" } }, { secretRef: { name: "s" } }],
    { color: "secret", token: "s3cret" },
  ],
  ["an optional source that is missing adds nothing", [{ configMapRef: { name: "none", optional: true } }], {}],
])("of whole sources, %s", (_name, envFrom, expected) => {
  expect(made({ envFrom })).toEqual(expected);
});

test("variables win over sources, sources over the base, and all are seen by what comes later", () => {
  const container = {
    envFrom: [{ configMapRef: { name: "c" } }],
    env: [
      { name: "size", value: "10" },
      { name: "ALL", value: "$(PATH) $(color) $(size)" },
    ],
  };
  expect(made(container, { PATH: "/bin", color: "base" })).toMatchObject({
    PATH: "/bin",
    color: "blue",
    size: "10",
    ALL: "/bin blue 10",
  });
});

test.each<[NonNullable<EnvVar["valueFrom"]>, string]>([
  [{ fieldRef: { fieldPath: "metadata.name" } }, "p"],
  [{ fieldRef: { fieldPath: "metadata.namespace" } }, "default"],
  [{ fieldRef: { fieldPath: "metadata.uid" } }, "u"],
  [{ fieldRef: { fieldPath: "metadata.labels['app']" } }, "web"],
  [{ fieldRef: { fieldPath: "metadata.labels['constructor']" } }, ""],
  [{ fieldRef: { fieldPath: "metadata.annotations['note']" } }, "a\nb"],
  [{ fieldRef: { fieldPath: "metadata.annotations" } }, 'note="a\\nb"'],
  [{ fieldRef: { fieldPath: "spec.nodeName" } }, "test-node"],
  [{ fieldRef: { fieldPath: "spec.serviceAccountName" } }, "robot"],
  [{ fieldRef: { fieldPath: "status.hostIP" } }, "127.0.0.1"],
  [{ fieldRef: { fieldPath: "status.podIPs" } }, "127.0.0.1"],
  [{ resourceFieldRef: { resource: "limits.memory" } }, "67108864"],
  [{ resourceFieldRef: { resource: "limits.memory", divisor: "1Mi" } }, "64"],
  [{ resourceFieldRef: { resource: "limits.cpu" } }, "4"],
  [{ resourceFieldRef: { resource: "requests.constructor" } }, "0"],
  [{ configMapKeyRef: { name: "c", key: "color" } }, "blue"],
  [{ secretKeyRef: { name: "s", key: "token" } }, "s3cret"],
])("%j is %j", (valueFrom, expected) => {
  expect(made({ env: [{ name: "A", valueFrom }] })).toEqual({ A: expected });
});

test.each<[NonNullable<EnvVar["valueFrom"]>, string]>([
  [{ fieldRef: { fieldPath: "spec.containers" } }, "field spec.containers is not available"],
  [{ fieldRef: { fieldPath: "metadata.labels[app]" } }, "field metadata.labels[app] is not available"],
  [{ fieldRef: { fieldPath: "status.phase" } }, "field status.phase is not available"],
  [
    { resourceFieldRef: { resource: "limits.ephemeral-storage" } },
    "resource limits.ephemeral-storage is not available",
  ],
  [{ resourceFieldRef: { resource: "cpu" } }, "resource cpu is not available"],
  [{ resourceFieldRef: { resource: "limits.cpu", divisor: "x" } }, "resource limits.cpu is not available"],
  [{ resourceFieldRef: { containerName: "other", resource: "limits.cpu" } }, "container other does not exist"],
  [{ configMapKeyRef: { name: "none", key: "k" } }, 'configmap "none" not found'],
  [{ configMapKeyRef: { name: "c", key: "none" } }, "couldn't find key none in ConfigMap c"],
  [{ secretKeyRef: { name: "none", key: "k" } }, 'secret "none" not found'],
  [{ secretKeyRef: { name: "s", key: "none" } }, "couldn't find key none in Secret s"],
  [{ secretKeyRef: { key: "k" } }, 'secret "" not found'],
  [{}, "variable A: its valueFrom is not supported"],
])("%j cannot be had: %s", (valueFrom, problem) => {
  expect(environment({ env: [{ name: "A", valueFrom }] })).toEqual({ ok: false, error: [problem] });
});

test("what is optional and missing leaves the variable as it was before", () => {
  const valueFrom = { configMapKeyRef: { name: "none", key: "k", optional: true } };
  expect(made({ env: [{ name: "A", valueFrom }] })).toEqual({});
  expect(made({ env: [{ name: "A", valueFrom }] }, { A: "base" })).toEqual({ A: "base" });
});
