import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer, type TestServer } from "../testing/index.ts";

let api: TestServer;
beforeAll(async () => {
  api = await startTestServer();
});
afterAll(() => api.close());

const path = "/api/v1/namespaces/default/services";
const merge = { headers: { "Content-Type": "application/merge-patch+json" } };
const service = (name: string, spec: object = {}) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name },
  spec: { selector: { app: "web" }, ports: [{ port: 80 }], ...spec },
});
const made = async (name: string, spec: object = {}) => {
  const { status, json } = await api.ask("POST", path, { body: service(name, spec) });
  expect([status, json["message"]]).toEqual([201, undefined]);
  return json["spec"] as unknown as Record<string, unknown> & { readonly clusterIP: string };
};

test("a port that only a mapping would lead anywhere is warned about", async () => {
  const warnings = async (name: string, spec: object) =>
    (await api.ask("POST", path, { body: service(name, spec) })).headers["warning"];
  expect(await warnings("mapped", { ports: [{ port: 80, targetPort: 8080 }] })).toBe(
    '299 - "spec.ports[0]: port 80 is not mapped on this server; ask for 8080"',
  );
  expect(await warnings("named", { ports: [{ port: 80, targetPort: "web" }] })).toMatch(
    /port 80 is not mapped on this server; ask for what Pods call \\"web\\""$/,
  );
  const ports = [{ name: "same", port: 80, targetPort: 80 }];
  expect(await warnings("unmapped", { ports })).toBeUndefined();
  expect(await warnings("headless", { clusterIP: "None", ports: [{ port: 80, targetPort: 8080 }] })).toBeUndefined();
});

describe("an address", () => {
  test("is given to a Service that asks for none, with the defaults of its type", async () => {
    const spec = await made("plain");
    expect(spec).toEqual({
      type: "ClusterIP",
      selector: { app: "web" },
      ports: [{ port: 80, targetPort: 80, protocol: "TCP" }],
      sessionAffinity: "None",
      internalTrafficPolicy: "Cluster",
      clusterIP: expect.stringMatching(/^10\.96\.\d+\.\d+$/),
      clusterIPs: [spec.clusterIP],
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
    });
  });

  test("is never given twice, also to many at once", async () => {
    const names = Array.from({ length: 50 }, (_, index) => `many-${index}`);
    const specs = await Promise.all(names.map((name) => made(name)));
    expect(new Set(specs.map(({ clusterIP }) => clusterIP)).size).toBe(50);
  });

  test("can be asked for, once", async () => {
    expect((await made("asked", { clusterIP: "10.96.7.7" })).clusterIP).toBe("10.96.7.7");
    const { status, json } = await api.ask("POST", path, { body: service("again", { clusterIP: "10.96.7.7" }) });
    expect([status, json["message"]]).toEqual([422, expect.stringContaining("provided IP is already allocated")]);
    await api.ask("DELETE", `${path}/asked`);
    expect((await made("after", { clusterIP: "10.96.7.7" })).clusterIP).toBe("10.96.7.7");
  });

  test("is kept for life: absent means the same, another one is refused", async () => {
    const { clusterIP } = await made("kept");
    const put = await api.ask("PUT", `${path}/kept`, { body: service("kept", { ports: [{ port: 81 }] }) });
    expect(put.json["spec"]).toMatchObject({ clusterIP, clusterIPs: [clusterIP], ports: [{ port: 81 }] });
    const other = await api.ask("PATCH", `${path}/kept`, { ...merge, body: { spec: { clusterIP: "10.96.1.1" } } });
    expect([other.status, other.json["message"]]).toEqual([422, expect.stringContaining("may not change once set")]);
  });

  test("None is for names of Pods, and may be had by all", async () => {
    for (const name of ["headless-a", "headless-b"])
      expect(await made(name, { clusterIP: "None", ports: [] })).toMatchObject({
        clusterIP: "None",
        clusterIPs: ["None"],
      });
  });

  test("is given back by a Service that becomes a name outside, and taken again", async () => {
    const { clusterIP } = await made("turning");
    const body = { spec: { type: "ExternalName", externalName: "example.org" } };
    const outside = await api.ask("PATCH", `${path}/turning`, { ...merge, body });
    expect([outside.status, outside.json["spec"]?.["clusterIP"]]).toEqual([200, undefined]);
    expect((await made("heir", { clusterIP })).clusterIP).toBe(clusterIP);
    const inside = await api.ask("PATCH", `${path}/turning`, { ...merge, body: { spec: { type: "ClusterIP" } } });
    expect(inside.json["spec"]?.["clusterIP"]).toMatch(/^10\.96\./);
  });
});

test("ports on nodes are given to types that have them, and kept", async () => {
  const spec = await made("outside", {
    type: "NodePort",
    ports: [
      { name: "a", port: 80 },
      { name: "b", port: 81 },
    ],
  });
  const ports = spec["ports"] as readonly { readonly nodePort: number }[];
  expect(new Set(ports.map(({ nodePort }) => nodePort)).size).toBe(2);
  for (const { nodePort } of ports) expect(nodePort >= 30_000 && nodePort <= 32_767).toBe(true);
  const labelled = await api.ask("PATCH", `${path}/outside`, { ...merge, body: { spec: { selector: { app: "x" } } } });
  expect(labelled.json["spec"]?.["ports"]).toEqual(ports);
});

test("a dry run takes nothing", async () => {
  const asked = service("dry", { clusterIP: "10.96.8.8" });
  expect((await api.ask("POST", `${path}?dryRun=All`, { body: asked })).status).toBe(201);
  expect((await made("real", { clusterIP: "10.96.8.8" })).clusterIP).toBe("10.96.8.8");
});

describe("what is refused", () => {
  const ports = (...list: readonly object[]) => ({ ports: list });
  test.each([
    ["a name that begins with a digit", service("1st"), "metadata.name", "DNS-1035"],
    ["another type", service("r", { type: "Magic" }), "spec.type", "Unsupported value"],
    ["no ports", service("r", { ports: [] }), "spec.ports", "Required value"],
    ["port 0", service("r", ports({ port: 0 })), "spec.ports[0].port", "between 1 and 65535"],
    ["a port that is too large", service("r", ports({ port: 65_536 })), "spec.ports[0].port", "between 1 and 65535"],
    ["two ports without names", service("r", ports({ port: 1 }, { port: 2 })), "spec.ports[1].name", "Required value"],
    [
      "two ports of one name",
      service("r", ports({ name: "a", port: 1 }, { name: "a", port: 2 })),
      "spec.ports[1].name",
      "Duplicate value",
    ],
    [
      "the same port twice",
      service("r", ports({ name: "a", port: 1 }, { name: "b", port: 1 })),
      "spec.ports[1]",
      "Duplicate value",
    ],
    ["another protocol", service("r", ports({ port: 1, protocol: "QUIC" })), "spec.ports[0].protocol", "Unsupported"],
    [
      "a target that is no port",
      service("r", ports({ port: 1, targetPort: "Ä" })),
      "spec.ports[0].targetPort",
      "name of a port",
    ],
    [
      "labels that no Pod can have",
      service("r", { ...ports({ port: 1 }), selector: { "a b": "c" } }),
      "spec.selector",
      "Invalid value",
    ],
    [
      "addresses that are none",
      service("r", { ...ports({ port: 1 }), externalIPs: ["1.2.3.4", "here"] }),
      "spec.externalIPs[1]",
      "must be a valid IP address",
    ],
    [
      "a node port without the type",
      service("r", ports({ port: 1, nodePort: 30_001 })),
      "spec.ports[0].nodePort",
      "may not be used",
    ],
    [
      "a node port out of range",
      service("r", { type: "NodePort", ports: [{ port: 1, nodePort: 80 }] }),
      "spec.ports[0].nodePort",
      "30000-32767",
    ],
    ["a name outside without the name", service("r", { type: "ExternalName" }), "spec.externalName", "Required value"],
    [
      "a name outside with an address",
      service("r", { type: "ExternalName", externalName: "x.org", clusterIP: "10.96.0.9" }),
      "spec.clusterIP",
      "may not be set",
    ],
    ["an address elsewhere", service("r", { clusterIP: "10.0.0.1" }), "spec.clusterIPs[0]", "10.96.0.0/16"],
    ["an address that is none", service("r", { clusterIP: "10.96.0.256" }), "spec.clusterIPs[0]", "valid IP address"],
    ["two families", service("r", { ipFamilies: ["IPv4", "IPv6"] }), "spec.ipFamilies", "only IPv4"],
  ])("%s", async (_what, body, field, message) => {
    const { status, json } = await api.ask("POST", path, { body });
    expect(status).toBe(422);
    const causes = json["details"]?.["causes"] as unknown as readonly object[];
    expect(causes).toContainEqual(expect.objectContaining({ field, message: expect.stringContaining(message) }));
  });
});

test("a table shows where it is reached", async () => {
  await made("t-node", { type: "NodePort", clusterIP: "10.96.9.1", ports: [{ port: 80, nodePort: 30_080 }] });
  await made("t-name", { type: "ExternalName", externalName: "x.org", ports: [], selector: {} });
  await made("t-lb", {
    type: "LoadBalancer",
    clusterIP: "10.96.9.2",
    ports: [{ port: 53, protocol: "UDP", nodePort: 30_053 }],
  });
  const { json } = await api.ask("GET", `${path}?fieldSelector=spec.type!%3DClusterIP`, {
    headers: { Accept: "application/json;as=Table;g=meta.k8s.io;v=v1" },
  });
  const rows = json["rows"] as unknown as readonly { readonly cells: readonly string[] }[];
  expect(rows.map(({ cells }) => cells.toSpliced(5, 1)).filter(([name]) => name?.startsWith("t-") === true)).toEqual([
    ["t-lb", "LoadBalancer", "10.96.9.2", "<pending>", "53:30053/UDP", "app=web"],
    ["t-name", "ExternalName", "<none>", "x.org", "<none>", "<none>"],
    ["t-node", "NodePort", "10.96.9.1", "<none>", "80:30080/TCP", "app=web"],
  ]);
});
