import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { runs } from "#test/support/property-runs.ts";
import {
  pullPolicyOf,
  qosClassOf,
  withPodSpecDefaults,
  withPortsOfHost,
  withRequestsOfLimits,
} from "./pod-defaults.ts";

test.each([
  ["busybox", "Always"],
  ["busybox:latest", "Always"],
  ["registry:5000/busybox", "Always"],
  ["busybox:1.36", "IfNotPresent"],
  ["registry:5000/a/b:1", "IfNotPresent"],
  ["busybox@sha256:abc", "IfNotPresent"],
])("the image %s is pulled %s", (image, policy) => {
  expect(pullPolicyOf(image)).toBe(policy);
});

test.each<[JsonObject, string]>([
  [{}, "BestEffort"],
  [{ requests: { cpu: "1" } }, "Burstable"],
  [{ limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "1", memory: "1Gi" } }, "Guaranteed"],
  [{ limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "500m", memory: "1Gi" } }, "Burstable"],
  [{ limits: { cpu: "1" }, requests: { cpu: "1" } }, "Burstable"],
  [{ limits: { cpu: 1, memory: "1Gi" }, requests: { cpu: "1000m", memory: "1024Mi" } }, "Guaranteed"],
  [{ requests: { cpu: 0, memory: "0" } }, "BestEffort"],
  [{ requests: { storage: "1Gi" } }, "BestEffort"],
])("resources %j are of class %s", (resources, expected) => {
  expect(qosClassOf({ containers: [{ name: "c", resources }] })).toBe(expected);
});

test("one container without limits spoils the guarantee of the others", () => {
  const limited = { name: "a", resources: { limits: { cpu: 1, memory: 1 }, requests: { cpu: 1, memory: 1 } } };
  expect(qosClassOf({ containers: [limited], initContainers: [{ ...limited, name: "i" }] })).toBe("Guaranteed");
  expect(qosClassOf({ containers: [limited], initContainers: [{ name: "i" }] })).toBe("Burstable");
});

describe("defaults", () => {
  const container = (more: JsonObject): JsonObject => ({ name: "c", image: "i:1", ...more });
  const filled = (more: JsonObject): JsonObject => {
    const { containers } = withPodSpecDefaults({ containers: [container(more)] }) as unknown as {
      readonly containers: readonly [JsonObject];
    };
    return containers[0];
  };
  const volume = (source: JsonObject): unknown =>
    (withPodSpecDefaults({ volumes: [{ name: "v", ...source }] }) as { readonly volumes: readonly unknown[] })
      .volumes[0];

  test("of a probe are ten seconds, one answer, three failures", () => {
    expect(filled({ livenessProbe: { tcpSocket: { port: 1 } } })["livenessProbe"]).toEqual({
      tcpSocket: { port: 1 },
      timeoutSeconds: 1,
      periodSeconds: 10,
      successThreshold: 1,
      failureThreshold: 3,
    });
    expect(filled({ startupProbe: { grpc: { port: 1 }, periodSeconds: 3 } })["startupProbe"]).toMatchObject({
      grpc: { port: 1, service: "" },
      periodSeconds: 3,
    });
  });

  test("of what asks by HTTP are the root and no TLS, in hooks too", () => {
    const asked = { httpGet: { port: 80, path: "/", scheme: "HTTP" } };
    expect(filled({ readinessProbe: { httpGet: { port: 80 } } })["readinessProbe"]).toMatchObject(asked);
    expect(filled({ lifecycle: { preStop: { httpGet: { port: 80 } } } })["lifecycle"]).toEqual({ preStop: asked });
    expect(
      filled({ lifecycle: { preStop: { httpGet: { port: 80, path: "/x", scheme: "HTTPS" } } } })["lifecycle"],
    ).toEqual({
      preStop: { httpGet: { port: 80, path: "/x", scheme: "HTTPS" } },
    });
  });

  test("empty texts and zeros say nothing where Kubernetes has no pointer, and are words where it has one", () => {
    const said = {
      restartPolicy: "",
      dnsPolicy: "",
      schedulerName: "",
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: "c",
          image: "busybox",
          imagePullPolicy: "",
          terminationMessagePath: "",
          terminationMessagePolicy: "",
          ports: [{ containerPort: 1, protocol: "" }],
          livenessProbe: { httpGet: { port: 1, path: "", scheme: "" }, periodSeconds: 0, timeoutSeconds: 0 },
          env: [{ name: "E", valueFrom: { fieldRef: { apiVersion: "", fieldPath: "metadata.name" } } }],
        },
      ],
    };
    const silent = {
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: "c",
          image: "busybox",
          ports: [{ containerPort: 1 }],
          livenessProbe: { httpGet: { port: 1 } },
          env: [{ name: "E", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
        },
      ],
    };
    expect(withPodSpecDefaults(said)).toEqual(withPodSpecDefaults(silent));
  });

  test("of the ports on the machine's network are the machine's, in Pods", () => {
    const ports = [{ containerPort: 1 }, { containerPort: 2, hostPort: 0 }, { containerPort: 3, hostPort: 4 }];
    const spec = { hostNetwork: true, containers: [container({ ports })] };
    const { containers } = withPortsOfHost(spec);
    expect(containers).toMatchObject([
      {
        ports: [
          { containerPort: 1, hostPort: 1 },
          { containerPort: 2, hostPort: 2 },
          { containerPort: 3, hostPort: 4 },
        ],
      },
    ]);
    expect(withPortsOfHost({ ...spec, hostNetwork: false })).toMatchObject({ containers: [{ ports }] });
    expect(filled({ ports })["ports"]).toMatchObject(ports);
  });

  test.each<[JsonObject, JsonObject]>([
    [{}, { emptyDir: {} }],
    [{ configMap: { name: "m" } }, { configMap: { name: "m", defaultMode: 0o644 } }],
    [{ secret: { secretName: "s", defaultMode: 0 } }, { secret: { secretName: "s", defaultMode: 0 } }],
    [{ hostPath: { path: "/" } }, { hostPath: { path: "/", type: "" } }],
    [{ nfs: { path: "/" } }, { nfs: { path: "/" } }],
    [
      { downwardAPI: { items: [{ path: "p", fieldRef: { fieldPath: "f" } }] } },
      { downwardAPI: { items: [{ path: "p", fieldRef: { fieldPath: "f", apiVersion: "v1" } }], defaultMode: 0o644 } },
    ],
    [
      { projected: { sources: [{ serviceAccountToken: { path: "t" } }] } },
      { projected: { sources: [{ serviceAccountToken: { path: "t", expirationSeconds: 3600 } }], defaultMode: 0o644 } },
    ],
  ])("of the volume %j make %j", (source, expected) => {
    expect(volume(source)).toEqual({ name: "v", ...expected });
  });

  test.each<[JsonObject, JsonObject]>([
    [{ limits: { cpu: 1 } }, { limits: { cpu: 1 }, requests: { cpu: 1 } }],
    [
      { limits: { cpu: 1 }, requests: { cpu: 0 } },
      { limits: { cpu: 1 }, requests: { cpu: 0 } },
    ],
    [{ limits: {} }, { limits: {} }],
    [{ requests: { cpu: 1 } }, { requests: { cpu: 1 } }],
  ])("of the resources %j make %j in Pods, and leave them alone in templates", (resources, expected) => {
    const spec = { containers: [container({ resources })], initContainers: [container({ resources })] };
    const { containers, initContainers } = withRequestsOfLimits(spec);
    for (const found of [containers, initContainers]) expect(found).toMatchObject([{ resources: expected }]);
    expect(filled({ resources })["resources"]).toEqual(resources);
  });

  test("of an account are its two names", () => {
    expect(withPodSpecDefaults({ serviceAccount: "old" })).toMatchObject({ serviceAccountName: "old" });
    expect(withPodSpecDefaults({ serviceAccountName: "new", serviceAccount: "old" })).toMatchObject({
      serviceAccountName: "new",
      serviceAccount: "new",
    });
    expect(withPodSpecDefaults({})).not.toHaveProperty("serviceAccountName");
  });

  test("filled in twice are filled in once, whatever the spec holds", () => {
    const part = fc.constantFrom(
      "containers",
      "initContainers",
      "volumes",
      "securityContext",
      "restartPolicy",
      "serviceAccount",
    );
    const item = fc.dictionary(
      fc.constantFrom(
        "name",
        "image",
        "resources",
        "livenessProbe",
        "lifecycle",
        "env",
        "ports",
        "secret",
        "projected",
      ),
      fc.jsonValue({ maxDepth: 2 }),
    );
    fc.assert(
      fc.property(
        fc.dictionary(part, fc.oneof(fc.array(item, { maxLength: 3 }), fc.jsonValue({ maxDepth: 1 }))),
        (spec) => {
          const once = withPodSpecDefaults(spec);
          expect(withPodSpecDefaults(once)).toBe(once);
        },
      ),
      { numRuns: runs(150) },
    );
  });
});
