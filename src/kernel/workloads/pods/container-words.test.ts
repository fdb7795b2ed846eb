import { expect, test } from "vitest";
import { imageAddress, loginsFor } from "#kernel/runtimes/index.ts";
import { shellPod } from "../testing/index.ts";
import type { Container, PodSpec, Probe } from "../pod-types.ts";
import { containerSetup, rootRefusal, sandboxOf } from "./container-setup.ts";
import { portNumber } from "./knock.ts";
import { counted, firstTally, type ProbeKind } from "./probe-tally.ts";
import { selects, serviceNames } from "./service-names.ts";

// The pure parts of pods as containers.

const facts = (user = "") => ({ id: "sha256:1", digest: "d", user });
const setupOf = (container: Partial<Container>, spec: Partial<PodSpec> = {}, user = "") =>
  containerSetup(shellPod("p", "true", spec), { name: "main", ...container }, facts(user));

test.each<[string, Partial<Container>, Partial<PodSpec>, object]>([
  ["a user", { securityContext: { runAsUser: 7 } }, {}, { user: "7" }],
  ["a user of the pod", {}, { securityContext: { runAsUser: 7, runAsGroup: 8 } }, { user: "7:8" }],
  ["a group alone", { securityContext: { runAsGroup: 8 } }, {}, { user: "web:8" }],
  ["groups", {}, { securityContext: { fsGroup: 5, supplementalGroups: [6] } }, { groups: [5, 6] }],
  ["capabilities", { securityContext: { capabilities: { drop: ["ALL"] } } }, {}, { droppedCapabilities: ["ALL"] }],
  ["no more rights", { securityContext: { allowPrivilegeEscalation: false } }, {}, { mayGainRights: false }],
  ["an unconfined pod", {}, { securityContext: { seccompProfile: { type: "Unconfined" } } }, { filtersCalls: false }],
  ["all of root's rights", { securityContext: { privileged: true } }, {}, { isPrivileged: true }],
  [
    "privileges of the pod, which there are not",
    {},
    { securityContext: { privileged: true } },
    { isPrivileged: false },
  ],
  [
    "limits",
    { resources: { limits: { cpu: "1500m", memory: "64Mi" } } },
    {},
    { limits: { cpus: 1.5, memoryBytes: 67108864, cpuShares: 1536 } },
  ],
  ["a request", { resources: { requests: { cpu: "500m" } } }, {}, { limits: { cpuShares: 512 } }],
  ["too little memory", { resources: { limits: { memory: "1" } } }, {}, { limits: { memoryBytes: 6291456 } }],
])("%s is what the engine is told", (_name, container, spec, expected) => {
  expect(setupOf(container, spec, "web:1")).toMatchObject(expected);
});

test.each([
  ["", {}, /will run as root/],
  ["root", {}, /will run as root/],
  ["0:5", {}, /will run as root/],
  ["web", {}, /non-numeric user \(web\)/],
  ["12", {}, undefined],
  ["", { runAsUser: 5 }, undefined],
  ["12", { runAsUser: 0 }, /breaks non-root policy/],
])("an image of user %j with %j must not be root: %s", (user, more, expected) => {
  const container = { name: "main", securityContext: { runAsNonRoot: true, ...more } };
  const refusal = rootRefusal(shellPod("p", "true"), container, facts(user));
  if (expected === undefined) expect(refusal).toBeUndefined();
  else expect(refusal).toMatch(expected);
});

test("a sandbox is found under its hostname, and under its subdomain", () => {
  const pod = shellPod("p", "true", {
    hostname: "h",
    subdomain: "s",
    hostAliases: [{ ip: "1.1.1.1", hostnames: ["x"] }],
  });
  expect(sandboxOf(pod, ["svc"])).toMatchObject({
    hostname: "h",
    names: ["svc", "h.default.svc.cluster.local", "h.s.default.svc.cluster.local", "h.s"],
    searches: ["default.svc.cluster.local", "svc.cluster.local", "cluster.local"],
    hosts: [{ name: "x", address: "1.1.1.1" }],
  });
});

test.each([
  ["busybox:1", "docker.io", "library/busybox"],
  ["me/app", "docker.io", "me/app"],
  ["ghcr.io/a/b@sha256:0", "ghcr.io", "a/b"],
  ["localhost:5000/a:t", "localhost:5000", "a"],
  ["index.docker.io/a/b", "docker.io", "a/b"],
])("the image %s is at %s under %s", (image, host, path) => {
  expect(imageAddress(image)).toEqual({ host, path });
});

const secret = (auths: object) => new Map([[".dockerconfigjson", Buffer.from(JSON.stringify({ auths }))]]);
const auth = (text: string) => ({ auth: Buffer.from(text).toString("base64") });

test.each([
  ["ghcr.io/a/b", { "ghcr.io": auth("u:p") }, ["u"]],
  ["ghcr.io/a/b", { "ghcr.io": auth("u:p"), "ghcr.io/a": auth("v:p"), "ghcr.io/c": auth("w:p") }, ["v", "u"]],
  ["busybox", { "https://index.docker.io/v1/": auth("u:p:q") }, ["u"]],
  ["x.azurecr.io/a", { "*.azurecr.io": { username: "u", password: "p" } }, ["u"]],
  ["x.y.azurecr.io/a", { "*.azurecr.io": auth("u:p") }, []],
  ["ghcr.io/ab/c", { "ghcr.io/a": auth("u:p") }, []],
  ["ghcr.io/a", { "ghcr.io": { auth: "" }, "quay.io": auth("u:p") }, []],
])("of %s the logins in %j are %j", (image, auths, users) => {
  expect(loginsFor(image, [secret(auths)]).map(({ username }) => username)).toEqual(users);
});

test("what is no JSON, or holds nothing, is no login and no failure", () => {
  expect(loginsFor("a", [new Map([[".dockerconfigjson", Buffer.from("{")]]), new Map()])).toEqual([]);
});

test.each<[ProbeKind, string, Probe, string]>([
  ["readiness", "", {}, "failure"],
  ["readiness", "+", {}, "success"],
  ["readiness", "+--", {}, "success"],
  ["readiness", "+---", {}, "failure"],
  ["readiness", "+-+", { successThreshold: 2 }, "failure"],
  ["readiness", "++", { successThreshold: 2 }, "success"],
  ["liveness", "--+--", {}, "success"],
  ["liveness", "-", { failureThreshold: 1 }, "failure"],
  ["startup", "--", {}, "unknown"],
  ["startup", "--+", {}, "success"],
])("a %s probe that answered %j with %j stands at %s", (kind, answers, probe, result) => {
  const tally = answers.split("").reduce((sum, answer) => counted(sum, answer === "+", probe), firstTally(kind, false));
  expect(tally.result).toBe(result);
});

test("a port may be named, or written as a text", () => {
  const container = { name: "c", ports: [{ name: "web", containerPort: 80 }] };
  expect([80, "web", "81", "x"].map((port) => portNumber(port, container))).toEqual([80, 80, 81, undefined]);
});

test("a Service selects by all of its labels, in its namespace, and nothing without any", () => {
  const service = (selector: object, namespace = "default") => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "s", namespace },
    spec: { selector },
  });
  const plain = shellPod("p", "true");
  const pod = { ...plain, metadata: { ...plain.metadata, labels: { a: "1", b: "2" } } };
  expect(
    [service({ a: "1" }), service({ a: "1", b: "3" }), service({}), service({ a: "1" }, "other")].map((one) =>
      selects(one, pod),
    ),
  ).toEqual([true, false, false, false]);
  expect(serviceNames(service({}))).toEqual(["s.default", "s.default.svc", "s.default.svc.cluster.local"]);
});
