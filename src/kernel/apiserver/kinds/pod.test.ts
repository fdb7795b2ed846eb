import { describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { served, writeNew, writeOver } from "../testing/write-steps.ts";
import { podKind } from "./pod.ts";

const pods = served(podKind);
const container = (more: JsonObject = {}): JsonObject => ({ name: "c", image: "nginx:1.27", ...more });
const pod = (spec: JsonObject = {}): JsonObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p" },
  spec: { containers: [container()], ...spec },
});

test("a small pod gets every default that clients see", () => {
  const { object, errors, warnings, unknown } = writeNew(
    pods,
    pod({
      containers: [
        container({
          ports: [{ containerPort: 80 }],
          resources: { limits: { cpu: 1, memory: "1Gi" } },
          livenessProbe: { httpGet: { port: 80 } },
          env: [{ name: "A", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
        }),
      ],
      volumes: [{ name: "empty" }, { name: "config", configMap: { name: "m" } }],
    }),
  );
  expect({ errors, warnings, unknown }).toEqual({ errors: [], warnings: [], unknown: [] });
  expect(object["spec"]).toEqual({
    restartPolicy: "Always",
    dnsPolicy: "ClusterFirst",
    schedulerName: "default-scheduler",
    terminationGracePeriodSeconds: 30,
    securityContext: {},
    enableServiceLinks: true,
    serviceAccountName: "default",
    serviceAccount: "default",
    containers: [
      {
        name: "c",
        image: "nginx:1.27",
        imagePullPolicy: "IfNotPresent",
        terminationMessagePath: "/dev/termination-log",
        terminationMessagePolicy: "File",
        ports: [{ containerPort: 80, protocol: "TCP" }],
        resources: { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "1", memory: "1Gi" } },
        livenessProbe: {
          httpGet: { port: 80, path: "/", scheme: "HTTP" },
          timeoutSeconds: 1,
          periodSeconds: 10,
          successThreshold: 1,
          failureThreshold: 3,
        },
        env: [{ name: "A", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "metadata.name" } } }],
      },
    ],
    volumes: [
      { name: "empty", emptyDir: {} },
      { name: "config", configMap: { name: "m", defaultMode: 420 } },
    ],
  });
  expect(object["status"]).toEqual({ phase: "Pending", qosClass: "Guaranteed" });
});

test("defaults are filled in once", () => {
  const once = pods.withDefaults(pod());
  expect(pods.withDefaults(once)).toEqual(once);
});

describe("refuses, naming the field,", () => {
  const cases: [string, JsonObject, string[]][] = [
    ["a pod without containers", { containers: [] }, ["Required spec.containers"]],
    [
      "a container without name and image",
      { containers: [{}] },
      ["Required spec.containers[0].name", "Required spec.containers[0].image"],
    ],
    [
      "a container name that is no label",
      { containers: [container({ name: "A_b" })] },
      ["Invalid spec.containers[0].name"],
    ],
    ["two containers of one name", { containers: [container(), container()] }, ["Duplicate spec.containers[1].name"]],
    [
      "an init container of the same name",
      { initContainers: [container()] },
      ["Duplicate spec.initContainers[0].name"],
    ],
    ["an unknown restart policy", { restartPolicy: "Sometimes" }, ["NotSupported spec.restartPolicy"]],
    [
      "a value of the wrong type, and nothing else",
      { restartPolicy: 1, containers: [] },
      ["TypeInvalid spec.restartPolicy"],
    ],
    ["a negative grace period", { terminationGracePeriodSeconds: -1 }, ["Invalid spec.terminationGracePeriodSeconds"]],
    ["a deadline of nothing", { activeDeadlineSeconds: 0 }, ["Invalid spec.activeDeadlineSeconds"]],
    [
      "ephemeral containers",
      { ephemeralContainers: [{ name: "e", image: "x" }] },
      ["Forbidden spec.ephemeralContainers"],
    ],
    ["a runtime class", { runtimeClassName: "gvisor" }, ["Forbidden spec.runtimeClassName"]],
    ["scheduling gates", { schedulingGates: [{ name: "g" }] }, ["Forbidden spec.schedulingGates"]],
    ["resource claims", { resourceClaims: [{ name: "c" }] }, ["Forbidden spec.resourceClaims"]],
    ["the host's processes", { hostPID: true, hostIPC: true }, ["Forbidden spec.hostPID", "Forbidden spec.hostIPC"]],
    [
      "Windows",
      { securityContext: { windowsOptions: { hostProcess: true } } },
      ["Forbidden spec.securityContext.windowsOptions"],
    ],
    [
      "a volume of another type",
      { volumes: [{ name: "v", nfs: { server: "s", path: "/" } }] },
      ["Forbidden spec.volumes[0].nfs"],
    ],
    [
      "a volume of two types",
      { volumes: [{ name: "v", emptyDir: {}, hostPath: { path: "/" } }] },
      ["Forbidden spec.volumes[0].hostPath"],
    ],
    ["two volumes of one name", { volumes: [{ name: "v" }, { name: "v" }] }, ["Duplicate spec.volumes[1].name"]],
    [
      "a volume that lacks its subject",
      { volumes: [{ name: "v", secret: {} }] },
      ["Required spec.volumes[0].secret.secretName"],
    ],
    [
      "a mount of no volume",
      { containers: [container({ volumeMounts: [{ name: "v", mountPath: "/a" }] })] },
      ["NotFound spec.containers[0].volumeMounts[0].name"],
    ],
    [
      "two mounts at one place, and a path that climbs",
      {
        volumes: [{ name: "v" }],
        containers: [
          container({
            volumeMounts: [
              { name: "v", mountPath: "/a" },
              { name: "v", mountPath: "/a", subPath: "../b" },
            ],
          }),
        ],
      },
      ["Invalid spec.containers[0].volumeMounts[1].mountPath", "Invalid spec.containers[0].volumeMounts[1].subPath"],
    ],
    [
      "a port out of range",
      { containers: [container({ ports: [{ containerPort: 70_000 }] })] },
      ["Invalid spec.containers[0].ports[0].containerPort"],
    ],
    [
      "an amount that is none",
      { containers: [container({ resources: { limits: { cpu: "much" } } })] },
      ["Invalid spec.containers[0].resources.limits.cpu", "Invalid spec.containers[0].resources.requests.cpu"],
    ],
    [
      "a request above its limit",
      { containers: [container({ resources: { limits: { memory: "1Gi" }, requests: { memory: "2Gi" } } })] },
      ["Invalid spec.containers[0].resources.requests.memory"],
    ],
    [
      "a variable with two values",
      {
        containers: [
          container({ env: [{ name: "A", value: "x", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }] }),
        ],
      },
      ["Invalid spec.containers[0].env[0].valueFrom"],
    ],
    [
      "a variable from nowhere",
      { containers: [container({ env: [{ name: "A", valueFrom: {} }] })] },
      ["Required spec.containers[0].env[0].valueFrom"],
    ],
    [
      "a field that cannot be shown",
      { containers: [container({ env: [{ name: "A", valueFrom: { fieldRef: { fieldPath: "spec.secret" } } }] })] },
      ["NotSupported spec.containers[0].env[0].valueFrom.fieldRef.fieldPath"],
    ],
    [
      "an environment from nothing",
      { containers: [container({ envFrom: [{}] })] },
      ["Required spec.containers[0].envFrom[0]"],
    ],
    [
      "a probe without and one with two handlers",
      {
        containers: [
          container({ livenessProbe: {}, readinessProbe: { exec: { command: ["a"] }, tcpSocket: { port: 1 } } }),
        ],
      },
      ["Required spec.containers[0].livenessProbe", "Forbidden spec.containers[0].readinessProbe.tcpSocket"],
    ],
    [
      "a probe of a container that ends",
      { initContainers: [container({ name: "i", readinessProbe: { tcpSocket: { port: 1 } } })] },
      ["Forbidden spec.initContainers[0].readinessProbe"],
    ],
    [
      "a restart policy of a container",
      { containers: [container({ restartPolicy: "Always" })] },
      ["Forbidden spec.containers[0].restartPolicy"],
    ],
  ];
  test.each(cases)("%s", (_, spec, expected) => {
    expect(writeNew(pods, pod(spec)).errors.map((error) => error.split(": ")[0])).toEqual(expected);
  });
});

test("features without effect on one machine are kept and warned about", () => {
  const { warnings, errors, object } = writeNew(
    pods,
    pod({ priorityClassName: "high", tolerations: [{ operator: "Exists" }], affinity: { podAffinity: {} } }),
  );
  expect(errors).toEqual([]);
  expect(warnings).toEqual([
    "spec.affinity.podAffinity: has no effect on this server",
    "spec.priorityClassName: has no effect on this server",
    "spec.tolerations: has no effect on this server",
  ]);
  expect(object).toMatchObject({ spec: { priorityClassName: "high" } });
});

test("unknown fields are named with their paths", () => {
  const { unknown } = writeNew(pods, pod({ containers: [container({ imagee: "x" })], nope: 1 }));
  expect(unknown).toEqual(["spec.containers[0].imagee", "spec.nope"]);
});

describe("an update", () => {
  const { object: old } = writeNew(pods, pod({ activeDeadlineSeconds: 60 }));
  test("of the status leaves the rest alone, and never revives a pod", () => {
    const ended = writeOver(pods, old, { ...old, spec: {}, status: { phase: "Succeeded" } }, "status");
    expect(ended.object).toMatchObject({ spec: old["spec"], status: { phase: "Succeeded" } });
    expect(ended.errors).toEqual([]);
    const revived = writeOver(pods, ended.object, { ...old, status: { phase: "Running" } }, "status");
    expect(revived.errors).toEqual(["Forbidden status.phase: Forbidden: a pod that is Succeeded stays so"]);
  });

  test("of the status fills in what Kubernetes always shows of a container", () => {
    const { object, errors } = writeOver(
      pods,
      old,
      { ...old, status: { phase: "Running", containerStatuses: [{ name: "c", ready: true }] } },
      "status",
    );
    expect(errors).toEqual([]);
    expect(object).toMatchObject({
      status: { containerStatuses: [{ name: "c", ready: true, restartCount: 0, image: "", imageID: "" }] },
    });
  });
});

test("a pod ends politely only when it may be running", () => {
  const { object } = writeNew(pods, pod({ terminationGracePeriodSeconds: 7 }));
  const bound = { ...object, spec: { ...(object["spec"] as JsonObject), nodeName: "here" } };
  expect(pods.gracePeriodSeconds(object)).toBe(0);
  expect(pods.gracePeriodSeconds(bound)).toBe(7);
  expect(pods.gracePeriodSeconds({ ...bound, status: { phase: "Failed" } })).toBe(0);
});

test.each([
  ["spec.nodeName", "here"],
  ["spec.hostNetwork", "false"],
  ["status.phase", "Running"],
  ["status.podIPs", "10.0.0.1,::1"],
  ["metadata.uid", undefined],
])("the field %s is %j", (label, value) => {
  const object = {
    ...pod({ nodeName: "here" }),
    status: { phase: "Running", podIPs: [{ ip: "10.0.0.1" }, { ip: "::1" }] },
  };
  expect(pods.fieldValue(object, label)).toBe(value);
});

test("a strategic merge patch finds its keys", () => {
  const spec = pods.mergeSchema?.field("spec");
  expect(spec?.field("containers")).toMatchObject({ mergeKey: "name", strategies: ["merge"] });
  expect(spec?.field("volumes")).toMatchObject({ mergeKey: "name", strategies: ["merge", "retainKeys"] });
  expect(spec?.field("containers")?.items?.field("env")).toMatchObject({ mergeKey: "name" });
  expect(spec?.field("containers")?.items?.field("ports")).toMatchObject({ mergeKey: "containerPort" });
  expect(spec?.field("containers")?.items?.field("command")).toMatchObject({ mergeKey: undefined, strategies: [] });
  expect(pods.mergeSchema?.field("metadata")?.field("finalizers")).toMatchObject({
    mergeKey: undefined,
    strategies: ["merge"],
  });
  expect(pods.mergeSchema?.field("metadata")?.field("labels")?.field("any")).toMatchObject({ mergeKey: undefined });
  expect(spec?.field("nothing")).toBeUndefined();
  expect(spec?.field("constructor")).toBeUndefined();
});
