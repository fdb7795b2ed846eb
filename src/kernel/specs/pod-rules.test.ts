import { describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { noFindings } from "./findings.ts";
import { withPodSpecDefaults } from "./pod-defaults.ts";
import { checkPodSpec, checkTemplateMetadata } from "./pod-rules.ts";

const container = (more: JsonObject = {}): JsonObject => ({ name: "c", image: "i", ...more });
const withMounts = (...volumeMounts: JsonObject[]) => ({ containers: [container({ volumeMounts })] });
const withVolumes = (...volumes: JsonObject[]) => ({ volumes });

function check(spec: JsonObject) {
  const found = noFindings();
  checkPodSpec(withPodSpecDefaults({ containers: [container()], ...spec }), ["spec"], found);
  return found;
}
/** `Reason field`, where a member of the only container is named by itself. */
const briefly = (spec: JsonObject, kind: "errors" | "unsupported" = "errors") =>
  check(spec)[kind].map(
    ({ reason, field }) => `${reason.replace("FieldValue", "")} ${field.replace("spec.containers[0].", ".")}`,
  );
const ofContainer = (more: JsonObject) => briefly({ containers: [container(more)] });

test("a small pod has nothing against it", () => {
  expect(check({})).toEqual({ errors: [], unsupported: [], warnings: [] });
});

describe("of a container, refuses", () => {
  test.each<[string, JsonObject, string[]]>([
    ["a name with capitals", { name: "Web" }, ["Invalid .name"]],
    ["a name longer than a label", { name: "c".repeat(64) }, ["Invalid .name"]],
    ["an empty image", { image: "" }, ["Required .image"]],
    ["an image with blanks around it", { image: " busybox " }, ["Invalid .image"]],
    ["an unknown pull policy", { imagePullPolicy: "Sometimes" }, ["NotSupported .imagePullPolicy"]],
    ["an unknown message policy", { terminationMessagePolicy: "Log" }, ["NotSupported .terminationMessagePolicy"]],
    ["a restart policy", { restartPolicy: "Never" }, ["Forbidden .restartPolicy"]],
    ["a user below zero", { securityContext: { runAsUser: -1 } }, ["Invalid .securityContext.runAsUser"]],
    ["a group beyond all", { securityContext: { runAsGroup: 2 ** 31 } }, ["Invalid .securityContext.runAsGroup"]],
    [
      "privileges that may not be used",
      { securityContext: { privileged: true, allowPrivilegeEscalation: false } },
      ["Invalid .securityContext.allowPrivilegeEscalation"],
    ],
  ])("%s", (_, more, expected) => {
    expect(ofContainer(more)).toEqual(expected);
  });
});

describe("of ports, refuses", () => {
  test.each<[string, JsonObject, string[]]>([
    ["none", {}, ["Required .ports[0].containerPort"]],
    ["one that is too large", { containerPort: 65_536 }, ["Invalid .ports[0].containerPort"]],
    ["one below zero", { containerPort: -1 }, ["Invalid .ports[0].containerPort"]],
    ["one of the host that is too large", { containerPort: 1, hostPort: 70_000 }, ["Invalid .ports[0].hostPort"]],
    ["an unknown protocol", { containerPort: 1, protocol: "tcp" }, ["NotSupported .ports[0].protocol"]],
    ["a name that is too long", { containerPort: 1, name: "a".repeat(16) }, ["Invalid .ports[0].name"]],
    ["a name of digits", { containerPort: 1, name: "8080" }, ["Invalid .ports[0].name"]],
    ["a name with two dashes in a row", { containerPort: 1, name: "a--b" }, ["Invalid .ports[0].name"]],
    ["a name that ends with a dash", { containerPort: 1, name: "a-" }, ["Invalid .ports[0].name"]],
    ["a name with capitals", { containerPort: 1, name: "Http" }, ["Invalid .ports[0].name"]],
  ])("%s", (_, port, expected) => {
    expect(ofContainer({ ports: [port] })).toEqual(expected);
  });

  test("two of one name, and takes two of one number", () => {
    const port = { containerPort: 80, name: "http" };
    expect(ofContainer({ ports: [port, port] })).toEqual(["Duplicate .ports[1].name"]);
    expect(ofContainer({ ports: [port, { ...port, name: "p15-abcdefghijk", protocol: "UDP" }] })).toEqual([]);
  });
});

describe("of variables, refuses", () => {
  test.each<[string, JsonObject, string[]]>([
    ["one without a name", { value: "x" }, ["Required .env[0].name"]],
    ["a name with an equals sign", { name: "A=B" }, ["Invalid .env[0].name"]],
    ["a name that is no ASCII", { name: "ÄRGER" }, ["Invalid .env[0].name"]],
    ["a source of no kind", { name: "A", valueFrom: {} }, ["Required .env[0].valueFrom"]],
    [
      "a source of two kinds",
      { name: "A", valueFrom: { secretKeyRef: { name: "s", key: "k" }, configMapKeyRef: { name: "s", key: "k" } } },
      ["Forbidden .env[0].valueFrom.secretKeyRef"],
    ],
    [
      "a key of nothing, and nothing of something",
      { name: "A", valueFrom: { configMapKeyRef: {} } },
      ["Required .env[0].valueFrom.configMapKeyRef.name", "Required .env[0].valueFrom.configMapKeyRef.key"],
    ],
    [
      "a name that no object can have",
      { name: "A", valueFrom: { secretKeyRef: { name: "A_b", key: "k" } } },
      ["Invalid .env[0].valueFrom.secretKeyRef.name"],
    ],
    [
      "a field that is not shown",
      { name: "A", valueFrom: { fieldRef: { fieldPath: "spec.containers" } } },
      ["NotSupported .env[0].valueFrom.fieldRef.fieldPath"],
    ],
    [
      "a field without a path",
      { name: "A", valueFrom: { fieldRef: {} } },
      ["Required .env[0].valueFrom.fieldRef.fieldPath"],
    ],
    [
      "a resource that is not counted",
      { name: "A", valueFrom: { resourceFieldRef: { resource: "limits.gpu" } } },
      ["NotSupported .env[0].valueFrom.resourceFieldRef.resource"],
    ],
    [
      "a resource without a name",
      { name: "A", valueFrom: { resourceFieldRef: {} } },
      ["Required .env[0].valueFrom.resourceFieldRef.resource"],
    ],
  ])("%s", (_, variable, expected) => {
    expect(ofContainer({ env: [variable] })).toEqual(expected);
  });

  test.each([
    "metadata.name",
    "metadata.labels",
    "metadata.annotations['a.b/c']",
    "metadata.labels['app']",
    "spec.nodeName",
    "status.podIPs",
  ])("and shows the field %s", (fieldPath) => {
    expect(ofContainer({ env: [{ name: "A", valueFrom: { fieldRef: { fieldPath } } }] })).toEqual([]);
  });

  test.each(["limits.cpu", "requests.ephemeral-storage", "limits.hugepages-2Mi"])(
    "and shows the resource %s",
    (resource) => {
      expect(ofContainer({ env: [{ name: "A", valueFrom: { resourceFieldRef: { resource } } }] })).toEqual([]);
    },
  );

  test("and takes names that no shell would, an empty value beside a source, and one name twice", () => {
    const env = [
      { name: "my.odd-name 1" },
      { name: "A", value: "", valueFrom: { fieldRef: { fieldPath: "metadata.uid" } } },
    ];
    expect(ofContainer({ env: [...env, { name: "A", value: "x" }] })).toEqual([]);
  });

  test.each<[JsonObject, string[]]>([
    [{}, ["Required .envFrom[0]"]],
    [{ secretRef: {} }, ["Required .envFrom[0].secretRef.name"]],
    [{ configMapRef: { name: "a/b" } }, ["Invalid .envFrom[0].configMapRef.name"]],
    [{ configMapRef: { name: "a" }, secretRef: { name: "b" } }, ["Forbidden .envFrom[0].secretRef"]],
    [{ configMapRef: { name: "a" }, prefix: "P_" }, []],
  ])("an environment from %j: %j", (source, expected) => {
    expect(ofContainer({ envFrom: [source] })).toEqual(expected);
  });
});

describe("of resources, refuses", () => {
  test.each<[string, JsonObject, string[]]>([
    ["less than nothing", { requests: { cpu: "-1" } }, ["Invalid .resources.requests.cpu"]],
    ["a resource nobody has heard of", { requests: { mem: "1Gi" } }, ["Invalid .resources.requests"]],
    [
      "a request above its limit",
      { requests: { cpu: "1100m" }, limits: { cpu: 1 } },
      ["Invalid .resources.requests.cpu"],
    ],
  ])("%s", (_, resources, expected) => {
    expect(ofContainer({ resources })).toEqual(expected);
  });

  test.each<[JsonObject]>([
    [{ requests: { cpu: "1000m" }, limits: { cpu: 1 } }],
    [{ requests: { cpu: 0, memory: "1.5Gi", "ephemeral-storage": "1e3" } }],
    [{ limits: { "nvidia.com/gpu": 1, "hugepages-2Mi": "4Mi" } }],
  ])("and takes %j", (resources) => {
    expect(ofContainer({ resources })).toEqual([]);
  });
});

describe("of probes and hooks, refuses", () => {
  test.each<[string, JsonObject, string[]]>([
    ["a probe by no means", { livenessProbe: {} }, ["Required .livenessProbe"]],
    [
      "a probe by two",
      { livenessProbe: { tcpSocket: { port: 1 }, httpGet: { port: 1 } } },
      ["Forbidden .livenessProbe.tcpSocket"],
    ],
    ["a command of nothing", { readinessProbe: { exec: { command: [] } } }, ["Required .readinessProbe.exec.command"]],
    ["a port that is none", { startupProbe: { tcpSocket: { port: 0 } } }, ["Invalid .startupProbe.tcpSocket.port"]],
    [
      "a port written as a text",
      { livenessProbe: { httpGet: { port: "80" } } },
      ["Invalid .livenessProbe.httpGet.port"],
    ],
    [
      "a scheme of another kind",
      { livenessProbe: { httpGet: { port: 1, scheme: "http" } } },
      ["NotSupported .livenessProbe.httpGet.scheme"],
    ],
    [
      "a port of gRPC that is too large",
      { livenessProbe: { grpc: { port: 70_000 } } },
      ["Invalid .livenessProbe.grpc.port"],
    ],
    [
      "times below zero",
      { readinessProbe: { tcpSocket: { port: 1 }, periodSeconds: -1, timeoutSeconds: -1 } },
      ["Invalid .readinessProbe.timeoutSeconds", "Invalid .readinessProbe.periodSeconds"],
    ],
    [
      "liveness after two successes",
      { livenessProbe: { tcpSocket: { port: 1 }, successThreshold: 2 } },
      ["Invalid .livenessProbe.successThreshold"],
    ],
    [
      "readiness with a grace, and an end without one",
      {
        readinessProbe: { tcpSocket: { port: 1 }, terminationGracePeriodSeconds: 5 },
        livenessProbe: { tcpSocket: { port: 1 }, terminationGracePeriodSeconds: 0 },
        startupProbe: { tcpSocket: { port: 1 }, terminationGracePeriodSeconds: 5 },
      },
      ["Invalid .livenessProbe.terminationGracePeriodSeconds", "Invalid .readinessProbe.terminationGracePeriodSeconds"],
    ],
    ["a hook by no means", { lifecycle: { preStop: {} } }, ["Required .lifecycle.preStop"]],
    [
      "a hook without a command",
      { lifecycle: { postStart: { exec: {} } } },
      ["Required .lifecycle.postStart.exec.command"],
    ],
    [
      "sleep of less than nothing",
      { lifecycle: { preStop: { sleep: { seconds: -1 } } } },
      ["Invalid .lifecycle.preStop.sleep.seconds"],
    ],
  ])("%s", (_, more, expected) => {
    expect(ofContainer(more)).toEqual(expected);
  });

  test("and takes ports by name, readiness after several successes, and hooks that ask by HTTP", () => {
    expect(
      ofContainer({
        readinessProbe: { httpGet: { port: "http" }, successThreshold: 3 },
        livenessProbe: { grpc: { port: 70, service: "web" } },
        lifecycle: { preStop: { httpGet: { port: 80 } }, postStart: { sleep: { seconds: 0 } } },
      }),
    ).toEqual([]);
  });
});

describe("of init containers", () => {
  const init = (more: JsonObject) => briefly({ initContainers: [container({ name: "i", ...more })] });

  test.each<[string, JsonObject, string[]]>([
    [
      "a probe is refused",
      { startupProbe: { tcpSocket: { port: 1 } } },
      ["Forbidden spec.initContainers[0].startupProbe"],
    ],
    [
      "a hook is refused",
      { lifecycle: { preStop: { exec: { command: ["a"] } } } },
      ["Forbidden spec.initContainers[0].lifecycle"],
    ],
    [
      "another policy than Always is refused",
      { restartPolicy: "OnFailure" },
      ["NotSupported spec.initContainers[0].restartPolicy"],
    ],
    ["a sidecar is probed", { restartPolicy: "Always", startupProbe: { tcpSocket: { port: 1 } } }, []],
    ["the name of another container is refused", { name: "c" }, ["Duplicate spec.initContainers[0].name"]],
  ])("%s", (_, more, expected) => {
    expect(init(more)).toEqual(expected);
  });
});

describe("of volumes, refuses", () => {
  test.each<[string, JsonObject, string[]]>([
    ["one without a name", { emptyDir: {} }, ["Required spec.volumes[0].name"]],
    ["a name with dots", { name: "a.b" }, ["Invalid spec.volumes[0].name"]],
    ["a config map without a name", { name: "v", configMap: {} }, ["Required spec.volumes[0].configMap.name"]],
    [
      "a path of the host that climbs",
      { name: "v", hostPath: { path: "/a/../b" } },
      ["Invalid spec.volumes[0].hostPath.path"],
    ],
    [
      "a path of an unknown type",
      { name: "v", hostPath: { path: "/a", type: "Dir" } },
      ["NotSupported spec.volumes[0].hostPath.type"],
    ],
    [
      "a claim without a name",
      { name: "v", persistentVolumeClaim: {} },
      ["Required spec.volumes[0].persistentVolumeClaim.claimName"],
    ],
    [
      "decimal digits for an octal mode",
      { name: "v", secret: { secretName: "s", defaultMode: 644 } },
      ["Invalid spec.volumes[0].secret.defaultMode"],
    ],
    [
      "an item without key and path, of a mode below zero",
      { name: "v", configMap: { name: "m", items: [{ mode: -1 }] } },
      [
        "Required spec.volumes[0].configMap.items[0].key",
        "Required spec.volumes[0].configMap.items[0].path",
        "Invalid spec.volumes[0].configMap.items[0].mode",
      ],
    ],
    [
      "an item that leads out of the volume",
      { name: "v", secret: { secretName: "s", items: [{ key: "k", path: "a/../../b" }] } },
      ["Invalid spec.volumes[0].secret.items[0].path"],
    ],
    [
      "a file that shows nothing, at an absolute path",
      { name: "v", downwardAPI: { items: [{ path: "/a" }] } },
      ["Required spec.volumes[0].downwardAPI.items[0]", "Invalid spec.volumes[0].downwardAPI.items[0].path"],
    ],
    [
      "a file that shows what cannot be shown",
      { name: "v", downwardAPI: { items: [{ path: "a", fieldRef: { fieldPath: "spec" } }] } },
      ["NotSupported spec.volumes[0].downwardAPI.items[0].fieldRef.fieldPath"],
    ],
    [
      "projection of nothing, and of two things in one",
      {
        name: "v",
        projected: { sources: [{}, { configMap: { name: "a" }, secret: {} }], defaultMode: 512 },
      },
      [
        "Invalid spec.volumes[0].projected.defaultMode",
        "Required spec.volumes[0].projected.sources[0]",
        "Forbidden spec.volumes[0].projected.sources[1].secret",
        "Required spec.volumes[0].projected.sources[1].secret.name",
      ],
    ],
    [
      "a token without a place",
      { name: "v", projected: { sources: [{ serviceAccountToken: {} }] } },
      ["Required spec.volumes[0].projected.sources[0].serviceAccountToken.path"],
    ],
    [
      "a token that ends before it is renewed",
      { name: "v", projected: { sources: [{ serviceAccountToken: { path: "t", expirationSeconds: 599 } }] } },
      ["Invalid spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds"],
    ],
  ])("%s", (_, volume, expected) => {
    expect(briefly(withVolumes(volume))).toEqual(expected);
  });

  test("two of one name", () => {
    expect(briefly(withVolumes({ name: "v" }, { name: "v" }))).toEqual(["Duplicate spec.volumes[1].name"]);
  });

  test("and takes projections of every kind", () => {
    const sources = [
      { configMap: { name: "m" } },
      { secret: { name: "s", items: [{ key: "k", path: "p" }] } },
      { downwardAPI: { items: [{ path: "p", fieldRef: { fieldPath: "metadata.name" } }] } },
      { serviceAccountToken: { path: "token" } },
    ];
    expect(briefly(withVolumes({ name: "v", projected: { sources } }))).toEqual([]);
  });

  test("and takes files with modes, by paths that only look like climbing", () => {
    const items = [{ key: "k", path: "a/b..c", mode: 0o777 }];
    expect(briefly(withVolumes({ name: "v", configMap: { name: "m", items, defaultMode: 0 } }))).toEqual([]);
  });
});

test("a port of a machine's own network has no other number there", () => {
  const withPorts = (...ports: JsonObject[]) => briefly({ hostNetwork: true, containers: [container({ ports })] });
  expect(withPorts({ containerPort: 80 }, { containerPort: 81, hostPort: 81 })).toEqual([]);
  expect(withPorts({ containerPort: 80, hostPort: 81 })).toEqual(["Invalid .ports[0].hostPort"]);
});

describe("of mounts, refuses", () => {
  test.each<[string, JsonObject, string[]]>([
    ["one of nothing", {}, ["Required .volumeMounts[0].name", "Required .volumeMounts[0].mountPath"]],
    ["one of another pod's volume", { name: "w", mountPath: "/a" }, ["NotFound .volumeMounts[0].name"]],
    ["a sub-path from the root", { name: "v", mountPath: "/a", subPath: "/b" }, ["Invalid .volumeMounts[0].subPath"]],
    ["a sub-path that climbs", { name: "v", mountPath: "/a", subPath: "b/.." }, ["Invalid .volumeMounts[0].subPath"]],
    [
      "two sub-paths",
      { name: "v", mountPath: "/a", subPath: "b", subPathExpr: "$(C)" },
      ["Invalid .volumeMounts[0].subPathExpr"],
    ],
  ])("%s", (_, mount, expected) => {
    expect(briefly({ ...withVolumes({ name: "v" }), ...withMounts(mount) })).toEqual(expected);
  });

  test("nothing of a mount whose volume is itself wrong", () => {
    expect(briefly({ ...withVolumes({ name: "V" }), ...withMounts({ name: "V", mountPath: "/a" }) })).toEqual([
      "Invalid spec.volumes[0].name",
    ]);
  });
});

describe("of the pod, refuses", () => {
  test.each<[string, JsonObject, string[]]>([
    ["an unknown DNS policy", { dnsPolicy: "Mine" }, ["NotSupported spec.dnsPolicy"]],
    ["no DNS at all", { dnsPolicy: "None" }, ["Required spec.dnsConfig.nameservers"]],
    ["a deadline beyond all", { activeDeadlineSeconds: 2 ** 31 }, ["Invalid spec.activeDeadlineSeconds"]],
    ["names that are none", { nodeName: "A", hostname: "a.b" }, ["Invalid spec.nodeName", "Invalid spec.hostname"]],
    [
      "labels of machines that are none",
      { nodeSelector: { "a b": "c", d: "e f" } },
      ["Invalid spec.nodeSelector", "Invalid spec.nodeSelector.d"],
    ],
    [
      "a toleration of everything and nothing",
      { tolerations: [{ operator: "Like", effect: "Never" }] },
      [
        "Invalid spec.tolerations[0].operator",
        "NotSupported spec.tolerations[0].operator",
        "NotSupported spec.tolerations[0].effect",
      ],
    ],
    [
      "a toleration of what says two things",
      { tolerations: [{ key: "a b", operator: "Exists", value: "x", tolerationSeconds: 1 }] },
      ["Invalid spec.tolerations[0].key", "Invalid spec.tolerations[0].effect", "Invalid spec.tolerations[0].value"],
    ],
    [
      "names for what is no address",
      { hostAliases: [{ ip: "::1" }, { ip: "10.0.0" }] },
      ["Invalid spec.hostAliases[1].ip"],
    ],
    ["a group of files below zero", { securityContext: { fsGroup: -1 } }, ["Invalid spec.securityContext.fsGroup"]],
  ])("%s", (_, spec, expected) => {
    expect(briefly(spec)).toEqual(expected);
  });
});

test.each<[JsonObject, string[]]>([
  [{ hostPID: true, hostIPC: true }, ["Forbidden spec.hostPID", "Forbidden spec.hostIPC"]],
  [{ hostPID: false, runtimeClassName: "", schedulingGates: [] }, []],
  [{ volumes: [{ name: "v", nfs: { server: "s", path: "/" } }] }, ["Forbidden spec.volumes[0].nfs"]],
  [
    { containers: [container({ securityContext: { windowsOptions: {} } })] },
    ["Forbidden .securityContext.windowsOptions"],
  ],
])("%j is beyond this server, and no mistake: %j", (spec, expected) => {
  expect(briefly(spec, "unsupported")).toEqual(expected);
  expect(briefly(spec)).toEqual([]);
});

test("what has no effect is warned about only when it is asked for", () => {
  const spec = {
    tolerations: [],
    topologySpreadConstraints: [{}],
    priorityClassName: "",
    affinity: { podAffinity: {}, nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: {} } },
  };
  expect(check(spec).warnings).toEqual([
    "spec.affinity.podAffinity: has no effect on this server",
    "spec.topologySpreadConstraints: has no effect on this server",
  ]);
});

test.each<JsonObject>([
  { nodeSelector: { "kubernetes.io/os": "linux" } },
  {
    tolerations: [
      { operator: "Exists" },
      { key: "a", value: "b", effect: "NoSchedule" },
      { key: "a", operator: "Equal" },
    ],
  },
  { tolerations: [{ key: "a", operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 }] },
  { hostAliases: [{ ip: "127.0.0.1" }, { ip: "2001:db8::1" }] },
])("%j is right", (spec) => {
  expect(briefly(spec)).toEqual([]);
});

test("labels and annotations of a template are checked as an object's own", () => {
  const found = noFindings();
  const labels = { "a b": "x", ok: "not ok", fine: "" };
  const annotations = { "a b": "anything goes here", "UPPER.example/Case": "x" };
  checkTemplateMetadata({ metadata: { labels, annotations } }, ["t"], found);
  expect(found.errors.map(({ reason, field }) => `${reason} ${field}`)).toEqual([
    "FieldValueInvalid t.metadata.labels",
    "FieldValueInvalid t.metadata.labels.ok",
    "FieldValueInvalid t.metadata.annotations",
  ]);
});
