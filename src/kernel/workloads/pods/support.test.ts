import { expect, test } from "vitest";
import type { Container, PodObject, PodSpec, SecurityContext, Volume } from "../pod-types.ts";
import { shellPod } from "../testing/index.ts";
import { isInPlace, type RuntimeTraits, supportFor, userOf } from "./support.ts";

const root: RuntimeTraits = {
  name: "process",
  isRoot: true,
  allowPrivileged: false,
  images: false,
  mounts: { supported: true },
  users: true,
  limits: false,
};
const user: RuntimeTraits = {
  ...root,
  isRoot: false,
  users: false,
  mounts: { supported: false, reason: "mounting needs root" },
};
const docker: RuntimeTraits = { ...root, name: "docker", images: true, limits: true };

function podWith(container: Partial<Container>, spec: Partial<PodSpec> = {}): PodObject {
  const pod = shellPod("p", "true", spec);
  return { ...pod, spec: { ...pod.spec, containers: [{ name: "main", command: ["x"], ...container }] } };
}

const nothing = { refusals: [], warnings: [] };
const refused = (...refusals: string[]) => ({ refusals, warnings: [] });
const warned = (...warnings: string[]) => ({ refusals: [], warnings });

test.each<[string, Partial<PodSpec>, object]>([
  ["no volumes", {}, nothing],
  ["an emptyDir", { volumes: [{ name: "v", emptyDir: {} }] }, nothing],
  ["a volume without source", { volumes: [{ name: "v" }] }, nothing],
  [
    "an emptyDir in memory",
    { volumes: [{ name: "v", emptyDir: { medium: "Memory" } }] },
    warned('volume "v": emptyDir.medium (it is on disk)'),
  ],
  [
    "an emptyDir with a limit",
    { volumes: [{ name: "v", emptyDir: { sizeLimit: "1Gi" } }] },
    warned('volume "v": emptyDir.sizeLimit'),
  ],
  ["a claim", { volumes: [{ name: "v", persistentVolumeClaim: { claimName: "c" } }] }, nothing],
  ["a token", { volumes: [{ name: "v", projected: { sources: [{ serviceAccountToken: { path: "t" } }] } }] }, nothing],
  ["a sidecar", { initContainers: [{ name: "i", command: ["x"], restartPolicy: "Always" }] }, nothing],
  [
    "an init container without command",
    { initContainers: [{ name: "i" }] },
    refused('container "i" without a command (there is no image to take it from)'),
  ],
  ["aliases of hosts", { hostAliases: [{ ip: "1.2.3.4" }] }, warned("spec.hostAliases")],
  ["no aliases of hosts", { hostAliases: [] }, nothing],
  ["a subdomain", { subdomain: "s" }, warned("spec.subdomain")],
  ["a shared process table", { shareProcessNamespace: true }, warned("spec.shareProcessNamespace")],
  ["a separate process table", { shareProcessNamespace: false }, nothing],
  ["a group for files", { securityContext: { fsGroup: 5 } }, warned("pod: securityContext.fsGroup")],
  ["an empty security context", { securityContext: {} }, nothing],
])("a pod with %s", (_name, spec, expected) => {
  expect(supportFor(podWith({}, spec), root)).toEqual(expected);
});

const here = 'container "main"';

test.each<[string, Partial<Container>, object]>([
  ["a command", {}, nothing],
  ["an empty command", { command: [] }, refused(`${here} without a command (there is no image to take it from)`)],
  [
    "arguments only",
    { command: [], args: ["x"] },
    refused(`${here} without a command (there is no image to take it from)`),
  ],
  ["a block device", { volumeDevices: [{ name: "v", devicePath: "/dev/x" }] }, refused(`${here}: volumeDevices`)],
  ["no block device", { volumeDevices: [] }, nothing],
  ["a postStart hook", { lifecycle: { postStart: { exec: { command: ["x"] } } } }, nothing],
  ["a preStop hook", { lifecycle: { preStop: { httpGet: { port: 1 } } } }, nothing],
  ["limits", { resources: { limits: { cpu: "1" } } }, warned(`${here}: resources.limits`)],
  ["requests", { resources: { requests: { cpu: "1" } } }, nothing],
  ["a port", { ports: [{ containerPort: 80 }] }, nothing],
  ["a port of the host", { ports: [{ hostPort: 80 }] }, warned(`${here}: hostPort`)],
  ["a terminal", { stdin: true, tty: true }, warned(`${here}: stdin`, `${here}: tty`)],
  ["no terminal", { stdin: false, tty: false }, nothing],
  ["all probes", { livenessProbe: { exec: {} }, readinessProbe: { exec: {} }, startupProbe: { exec: {} } }, nothing],
])("a container with %s", (_name, container, expected) => {
  expect(supportFor(podWith(container), root)).toEqual(expected);
});

test.each([
  "privileged",
  "readOnlyRootFilesystem",
  "capabilities",
  "allowPrivilegeEscalation",
  "seccompProfile",
  "seLinuxOptions",
  "appArmorProfile",
  "procMount",
])("securityContext.%s has no effect, and is told only when it asks for something", (name) => {
  const asked = supportFor(podWith({ securityContext: { [name]: { drop: ["ALL"] } } }), root);
  expect(asked).toEqual(warned(`${here}: securityContext.${name}`));
  for (const value of [false, {}, "", []]) {
    expect(supportFor(podWith({ securityContext: { [name]: value } }), root)).toEqual(nothing);
  }
});

test("a runtime with images needs no command and keeps limits", () => {
  const container = { command: [], resources: { limits: { cpu: "1" } } };
  expect(supportFor(podWith(container), docker)).toEqual(nothing);
});

test("privileged containers are refused, but by a server that permits them", () => {
  const pod = podWith({ securityContext: { privileged: true } });
  expect(supportFor(pod, docker)).toEqual(
    refused(`${here}: securityContext.privileged (the server permits it with --allow-privileged)`),
  );
  expect(supportFor(pod, { ...docker, allowPrivileged: true })).toEqual(nothing);
});

test("a port that the process has on the machine by itself is nothing to be told", () => {
  expect(supportFor(podWith({ ports: [{ containerPort: 80, hostPort: 80 }] }), root)).toEqual(nothing);
});

const data: Volume = { name: "data", hostPath: { path: "/data" } };

test.each<[string, Volume, string, boolean, object]>([
  ["a host directory at its own path", data, "/data", false, nothing],
  [
    "the same for reading only",
    data,
    "/data",
    true,
    refused(`${here}: mounting volume "data" at /data (mounting needs root)`),
  ],
  [
    "a host directory elsewhere",
    data,
    "/other",
    false,
    refused(`${here}: mounting volume "data" at /other (mounting needs root)`),
  ],
  [
    "an empty directory",
    { name: "data", emptyDir: {} },
    "/data",
    false,
    refused(`${here}: mounting volume "data" at /data (mounting needs root)`),
  ],
])("without root, mounting %s", (_name, volume, mountPath, readOnly, expected) => {
  const pod = podWith({ volumeMounts: [{ name: "data", mountPath, readOnly }] }, { volumes: [volume] });
  expect(supportFor(pod, user)).toEqual(expected);
  expect(supportFor(pod, root)).toEqual(nothing);
});

test.each<[string, Container["securityContext"], PodSpec["securityContext"], RuntimeTraits, object]>([
  ["nobody in particular", undefined, undefined, user, nothing],
  [
    "a user, without root",
    { runAsUser: 5 },
    undefined,
    user,
    refused(`${here}: securityContext.runAsUser (it needs root)`),
  ],
  [
    "a group, without root",
    { runAsGroup: 5 },
    undefined,
    user,
    refused(`${here}: securityContext.runAsUser (it needs root)`),
  ],
  ["a user, as root", { runAsUser: 5 }, undefined, root, nothing],
  [
    "not root, as root",
    { runAsNonRoot: true },
    undefined,
    root,
    refused(`${here}: securityContext.runAsNonRoot (it would run as root)`),
  ],
  ["not root, as somebody else", { runAsNonRoot: true }, undefined, user, nothing],
  [
    "not root but user 0",
    { runAsNonRoot: true, runAsUser: 0 },
    undefined,
    root,
    refused(`${here}: securityContext.runAsNonRoot (it would run as root)`),
  ],
  ["not root and user 5", { runAsNonRoot: true, runAsUser: 5 }, undefined, root, nothing],
  [
    "not root, by the pod",
    undefined,
    { runAsNonRoot: true },
    root,
    refused(`${here}: securityContext.runAsNonRoot (it would run as root)`),
  ],
  ["root, against the pod", { runAsNonRoot: false }, { runAsNonRoot: true }, root, nothing],
  [
    "a group only, and not root",
    { runAsNonRoot: true, runAsGroup: 5 },
    undefined,
    root,
    refused(`${here}: securityContext.runAsNonRoot (it would run as root)`),
  ],
])("who asks to run as %s", (_name, own, ofPod, traits, expected) => {
  const pod = podWith(
    own === undefined ? {} : { securityContext: own },
    ofPod === undefined ? {} : { securityContext: ofPod },
  );
  expect(supportFor(pod, traits)).toEqual(expected);
});

test.each<[SecurityContext, SecurityContext, object | undefined]>([
  [{}, {}, undefined],
  [{ runAsUser: 5 }, {}, { uid: 5, gid: 5 }],
  [{ runAsUser: 5, runAsGroup: 6 }, {}, { uid: 5, gid: 6 }],
  [{ runAsGroup: 6 }, {}, { uid: 0, gid: 6 }],
  [{}, { runAsUser: 7, runAsGroup: 8 }, { uid: 7, gid: 8 }],
  [{ runAsUser: 5 }, { runAsUser: 7, runAsGroup: 8 }, { uid: 5, gid: 8 }],
  [{ runAsUser: 0 }, { runAsUser: 7 }, { uid: 0, gid: 0 }],
])("a container's %j in a pod's %j is the user %j", (own, ofPod, expected) => {
  const pod = podWith({ securityContext: own }, { securityContext: ofPod });
  const [main] = pod.spec.containers;
  expect(main && userOf(main, pod)).toEqual(expected);
});

test("only a host directory that may be written to is in its place", () => {
  expect(isInPlace(data, "/data", false)).toBe(true);
  expect(isInPlace(data, "/data/", false)).toBe(false);
  expect(isInPlace(undefined, "/data", false)).toBe(false);
});

test("artifacts need no mounts where steps are processes, and an engine on this machine where they are containers", () => {
  const pod = podWith({});
  const leaving = { ...pod, metadata: { ...pod.metadata, annotations: { "slipway.dev/leaves-artifacts": "[]" } } };
  const away: RuntimeTraits = { ...docker, mounts: { supported: false, reason: "the engine runs elsewhere" } };
  expect(supportFor(leaving, user)).toEqual(nothing);
  expect(supportFor(leaving, docker)).toEqual(nothing);
  expect(supportFor(leaving, away)).toEqual(refused("artifacts (the engine runs elsewhere)"));
  expect(supportFor(pod, away)).toEqual(nothing);
});
