import { describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import type { TableView } from "../kinds/built-in.ts";
import { claimTable } from "./claim.ts";
import { nodeTable } from "./node.ts";
import { serviceTable } from "./service.ts";
import { serviceAccountTable } from "./small-kinds.ts";
import { horizontalPodAutoscalerTable, ingressTable } from "./stored-only.ts";

// Cells that have rules of their own in Kubernetes' printers.

const cell = (table: TableView, column: string, object: JsonObject): unknown =>
  table.row(object, 0)[table.columns.findIndex(({ name }) => name === column)];
const rulesOf = (...hosts: readonly (string | undefined)[]): JsonObject => ({
  spec: { rules: hosts.map((host) => (host === undefined ? {} : { host })) },
});

describe("an Ingress", () => {
  test.each<[JsonObject, string]>([
    [{}, "*"],
    [rulesOf(undefined), "*"],
    [rulesOf("a", "b", "c"), "a,b,c"],
    [rulesOf("a", "b", "a"), "a,b,a"],
    [rulesOf("a", undefined, "b"), "a,b"],
    [rulesOf("a", "b", "c", "d", "e"), "a,b,c + 2 more..."],
    [rulesOf("a", "b", "c", undefined), "a,b,c + 1 more..."],
  ])("with %j answers to %s", (ingress, hosts) => {
    expect(cell(ingressTable, "Hosts", ingress)).toBe(hosts);
  });

  test("and a Service name each address of their load balancer once, sorted", () => {
    const status = {
      loadBalancer: { ingress: [{ ip: "10.0.0.2" }, { hostname: "a.b" }, { ip: "10.0.0.1" }, { ip: "10.0.0.2" }] },
    };
    expect(cell(ingressTable, "Address", { status })).toBe("10.0.0.1,10.0.0.2,a.b");
    const spec = { type: "LoadBalancer", externalIPs: ["9.9.9.9"] };
    expect(cell(serviceTable, "External-IP", { spec, status })).toBe("10.0.0.1,10.0.0.2,a.b,9.9.9.9");
    expect(cell(serviceTable, "External-IP", { spec: { type: "LoadBalancer" } })).toBe("<pending>");
  });
});

describe("an autoscaler", () => {
  const metric = (type: string, source: JsonObject): JsonObject => ({
    type,
    [`${type.slice(0, 1).toLowerCase()}${type.slice(1)}`]: source,
  });
  test.each<[JsonObject[], string]>([
    [[], "<none>"],
    [[metric("Resource", { name: "cpu", target: { averageUtilization: 80 } })], "cpu: <unknown>/80%"],
    [[metric("Resource", { name: "cpu", target: { averageValue: "500m" } })], "cpu: <unknown>/500m"],
    [[metric("Resource", { name: "cpu", target: {} })], "cpu: <unknown>/<auto>"],
    [[metric("ContainerResource", { name: "cpu", target: { averageValue: "1" } })], "cpu: <unknown>/1"],
    [[metric("Pods", { target: { averageValue: "10" } })], "<unknown>/10"],
    [[metric("Object", { target: { value: "10" } })], "<unknown>/10"],
    [[metric("External", { target: { averageValue: "10" } })], "<unknown>/10 (avg)"],
  ])("with %j shows %s", (metrics, text) => {
    expect(cell(horizontalPodAutoscalerTable, "Targets", { spec: { metrics } })).toBe(text);
  });

  test("that names no least number of Pods says so", () => {
    expect(cell(horizontalPodAutoscalerTable, "MinPods", {})).toBe("<unset>");
    expect(cell(horizontalPodAutoscalerTable, "MinPods", { spec: { minReplicas: 0 } })).toBe("0");
  });
});

test.each<[JsonObject, string]>([
  [{}, "<none>"],
  [{ "node-role.kubernetes.io/": "" }, "<none>"],
  [{ "node-role.kubernetes.io/worker": "", "kubernetes.io/role": "node", other: "x" }, "node,worker"],
  [{ "node-role.kubernetes.io/node": "", "kubernetes.io/role": "node" }, "node"],
])("a Node with labels %j has the roles %s", (labels, roles) => {
  expect(cell(nodeTable, "Roles", { metadata: { labels } })).toBe(roles);
});

test("a claim shows what it was promised once it has a volume", () => {
  const status = { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"] };
  const shown = (object: JsonObject) =>
    ["Capacity", "Access Modes", "VolumeMode"].map((name) => cell(claimTable, name, object));
  expect(shown({ status })).toEqual(["", "", "<unset>"]);
  expect(shown({ spec: { volumeName: "v", volumeMode: "Filesystem" }, status })).toEqual(["1Gi", "RWO", "Filesystem"]);
  expect(shown({ spec: { volumeName: "v" } })).toEqual(["0", "", "<unset>"]);
});

test("an account shows how many Secrets it lists", () => {
  expect(cell(serviceAccountTable, "Secrets", {})).toBe(0);
  expect(cell(serviceAccountTable, "Secrets", { secrets: [{ name: "a" }, { name: "b" }] })).toBe(2);
});
