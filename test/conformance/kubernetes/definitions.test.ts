import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Json, startTestServer, type TestServer, waitUntil } from "#kernel/apiserver/testing/index.ts";

// CustomResourceDefinitions by raw requests: names that clash, kinds at once and until the last object is gone, schemas that change under
// stored objects, rules, selectable fields, groups that need an approval.

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const merge = { "Content-Type": "application/merge-patch+json" };
const objects = (plural: string, group = "demo.example.org") => `/apis/${group}/v1/namespaces/default/${plural}`;

interface Shape {
  readonly plural: string;
  readonly kind: string;
  readonly group?: string;
  readonly spec?: object;
  readonly version?: object;
  readonly names?: object;
  readonly annotations?: object;
}
const definition = ({
  plural,
  kind,
  group = "demo.example.org",
  spec = {},
  version = {},
  names = {},
  annotations,
}: Shape) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${plural}.${group}`, ...(annotations === undefined ? {} : { annotations }) },
  spec: {
    group,
    names: { plural, kind, ...names },
    scope: "Namespaced",
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schemaOf(spec) }, ...version }],
  },
});
const schemaOf = (spec: object) => ({ type: "object", properties: { spec: { type: "object", ...spec } } });
const object = (kind: string, name: string, spec: object = {}) => ({
  apiVersion: "demo.example.org/v1",
  kind,
  metadata: { name },
  spec,
});
const text = { type: "string" };

let api: TestServer;
beforeAll(async () => void (api = await startTestServer()));
afterAll(() => api.close());
const define = (shape: Shape) => api.ask("POST", crds, { body: definition(shape) });
const change = (name: string, spec: object) =>
  api.ask("PATCH", `${crds}/${name}`, { bytes: JSON.stringify({ spec }), headers: merge });
const conditionsOf = (crd: Json) => {
  const { conditions = [] } = crd["status"] as unknown as {
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string }[];
  };
  return Object.fromEntries(conditions.map(({ type, status, reason }) => [type, `${status} ${reason}`]));
};

describe("a definition", () => {
  test("is established and served before its 201 is sent: objects, discovery and OpenAPI", async () => {
    const made = await define({ plural: "gears", kind: "Gear", names: { shortNames: ["gr"], categories: ["all"] } });
    expect(made.status, made.text).toBe(201);
    expect(conditionsOf(made.json)).toEqual({
      NamesAccepted: "True NoConflicts",
      Established: "True InitialNamesAccepted",
    });
    expect(made.json["status"]).toMatchObject({
      acceptedNames: { plural: "gears", singular: "gear", kind: "Gear", listKind: "GearList", shortNames: ["gr"] },
      storedVersions: ["v1"],
    });
    expect((await api.ask("POST", objects("gears"), { body: object("Gear", "g") })).status).toBe(201);
    const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    expect((await api.ask("GET", "/apis", { headers: { Accept: aggregated } })).text).toContain('"gears"');
    expect((await api.ask("GET", "/apis/demo.example.org/v1")).text).toContain('"gears"');
    const index = await api.ask("GET", "/openapi/v3");
    expect(index.text).toContain("apis/demo.example.org/v1");
    expect((await api.ask("GET", "/openapi/v3/apis/demo.example.org/v1")).text).toContain("org.example.demo.v1.Gear");
  });

  test("that goes takes its objects along, respects their finalizers, and ends their watches", async () => {
    await define({ plural: "wheels", kind: "Wheel" });
    const held = { ...object("Wheel", "held"), metadata: { name: "held", finalizers: ["example.org/wait"] } };
    await api.ask("POST", objects("wheels"), { body: object("Wheel", "plain") });
    await api.ask("POST", objects("wheels"), { body: held });
    const watch = await api.watch(`${objects("wheels")}?watch=1&resourceVersion=${api.store.revision}`);
    const going = await api.ask("DELETE", `${crds}/wheels.demo.example.org`);
    expect(going.json).toMatchObject({
      kind: "CustomResourceDefinition",
      metadata: { finalizers: ["customresourcecleanup.apiextensions.k8s.io"] },
      status: {
        conditions: [{ type: "NamesAccepted" }, { type: "Established" }, { type: "Terminating", status: "True" }],
      },
    });
    const again = await api.ask("DELETE", `${crds}/wheels.demo.example.org`);
    expect(again.json["status"]).toEqual(going.json["status"]);
    expect(await watch.next()).toMatchObject({ type: expect.stringMatching(/MODIFIED|DELETED/) });
    expect((await api.ask("POST", objects("wheels"), { body: object("Wheel", "late") })).status).toBe(405);
    await watch.next();
    await api.ask("PATCH", `${objects("wheels")}/held`, {
      bytes: JSON.stringify({ metadata: { finalizers: null } }),
      headers: merge,
    });
    expect((await watch.next())?.["type"]).toBe("DELETED");
    expect(await watch.next()).toBeUndefined();
    expect((await api.ask("GET", objects("wheels"))).status).toBe(404);
    await waitUntil(async () => (await api.ask("GET", `${crds}/wheels.demo.example.org`)).status === 404);
  });
});

describe("names that clash within a group", () => {
  test("are not accepted, not served, and judged again when what was in the way is gone", async () => {
    await define({ plural: "cats", kind: "Cat", names: { shortNames: ["ct"] } });
    const second = await define({ plural: "cattle", kind: "Cattle", names: { shortNames: ["ct"] } });
    expect(second.status, second.text).toBe(201);
    expect(conditionsOf(second.json)).toEqual({
      NamesAccepted: "False ShortNamesConflict",
      Established: "False NotAccepted",
    });
    expect((await api.ask("GET", objects("cattle"))).status).toBe(404);
    await api.ask("DELETE", `${crds}/cats.demo.example.org`);
    await waitUntil(async () => (await api.ask("GET", objects("cattle"))).status === 200);
    const now = await api.ask("GET", `${crds}/cattle.demo.example.org`);
    expect(conditionsOf(now.json)).toEqual({
      NamesAccepted: "True NoConflicts",
      Established: "True InitialNamesAccepted",
    });
  });

  test("are accepted as soon as the other definition gives its name away", async () => {
    await define({ plural: "dogs", kind: "Dog", names: { shortNames: ["dg"] } });
    await define({ plural: "dingos", kind: "Dingo", names: { shortNames: ["dg"] } });
    await change("dogs.demo.example.org", { names: { plural: "dogs", kind: "Dog", shortNames: null } });
    await waitUntil(async () => (await api.ask("GET", objects("dingos"))).status === 200);
  });

  test.each([
    ["the plural of a built-in group's kind", { plural: "jobs", kind: "Job2", group: "batch" }, 422],
    ["the kind", { plural: "gears2", kind: "Gear", names: { singular: "gear2" } }, "False KindConflict"],
    [
      "the plural as a singular",
      { plural: "gears3", kind: "Gear3", names: { singular: "gears" } },
      "False SingularConflict",
    ],
    ["the list kind", { plural: "gears4", kind: "Gear4", names: { listKind: "GearList" } }, "False ListKindConflict"],
    ["the same in another group", { plural: "gears", kind: "Gear", group: "other.example.org" }, "True NoConflicts"],
  ] as const)("%s", async (_what, shape, expected) => {
    const made = await define(shape);
    if (typeof expected === "number") expect(made.status).toBe(expected);
    else expect(conditionsOf(made.json)["NamesAccepted"]).toBe(expected);
  });
});

describe("a schema that changes under stored objects", () => {
  const path = objects("pumps");
  const spec = (properties: object, more: object = {}) => ({
    versions: [
      { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schemaOf({ properties, ...more }) } },
    ],
  });
  const name = "pumps.demo.example.org";
  beforeAll(async () => {
    await define({ plural: "pumps", kind: "Pump", spec: { properties: { size: { type: "integer" }, note: text } } });
    await api.ask("POST", path, { body: object("Pump", "old", { size: 99, note: "n" }) });
  });

  test("fills in new defaults on every read: one, list, watch, selection", async () => {
    const before = (await api.ask("GET", `${path}/old`)).json;
    const properties = { size: { type: "integer" }, note: text, color: { ...text, default: "red" } };
    const changed = await change(name, {
      versions: [{ ...spec(properties).versions[0], selectableFields: [{ jsonPath: ".spec.color" }] }],
    });
    expect(changed.status, changed.text).toBe(200);
    const after = (await api.ask("GET", `${path}/old`)).json;
    expect(after).toEqual({ ...before, spec: { size: 99, note: "n", color: "red" } });
    expect((await api.ask("GET", path)).json["items"]).toEqual([after]);
    expect((await api.ask("GET", `${path}?fieldSelector=spec.color%3Dred`)).json["items"]).toEqual([after]);
    const watch = await api.watch(`${path}?watch=1`);
    expect(await watch.next()).toEqual({ type: "ADDED", object: after });
    watch.close();
    // Reading is no writing.
    expect((await api.ask("PATCH", `${path}/old`, { bytes: "{}", headers: merge })).json).toEqual(after);
  });

  test("leaves what was right before alone, and judges what is written (ratcheting)", async () => {
    await change(name, spec({ size: { type: "integer", maximum: 10 }, note: { ...text, maxLength: 3 } }));
    const note = (value: string) =>
      api.ask("PATCH", `${path}/old`, { bytes: JSON.stringify({ spec: { note: value } }), headers: merge });
    expect((await note("abc")).status).toBe(200);
    const refused = await note("abcd");
    expect(refused.status).toBe(422);
    expect(refused.json["details"]?.["causes"]).toMatchObject([{ field: "spec.note", reason: "FieldValueTooLong" }]);
    const size = await api.ask("PATCH", `${path}/old`, { bytes: '{"spec":{"size":98}}', headers: merge });
    expect(size.json["details"]?.["causes"]).toMatchObject([{ field: "spec.size" }]);
    expect((await api.ask("POST", path, { body: object("Pump", "new", { size: 99 }) })).status).toBe(422);
  });
});

describe("rules", () => {
  const rule = (text: string, more: object = {}) => [{ rule: text, ...more }];
  test("have messages, reasons and paths of their own, see the old value, and are all told at once", async () => {
    const properties = {
      low: { type: "integer", "x-kubernetes-validations": rule("self >= 0", { message: "must not be negative" }) },
      high: { type: "integer", "x-kubernetes-validations": rule("self >= oldSelf", { message: "only grows" }) },
      name: text,
    };
    const made = await define({
      plural: "gates",
      kind: "Gate",
      spec: {
        properties,
        "x-kubernetes-validations": [
          {
            rule: "!has(self.low) || !has(self.high) || self.low <= self.high",
            messageExpression: "'low is ' + string(self.low)",
            reason: "FieldValueForbidden",
            fieldPath: ".low",
          },
        ],
      },
    });
    expect(made.status, made.text).toBe(201);
    const path = objects("gates");
    const wrong = await api.ask("POST", path, { body: object("Gate", "a", { low: -1, high: -2 }) });
    expect(wrong.status).toBe(422);
    expect(wrong.json["details"]?.["causes"]).toEqual([
      { reason: "FieldValueForbidden", field: "spec.low", message: "Forbidden: low is -1" },
      { reason: "FieldValueInvalid", field: "spec.low", message: 'Invalid value: "integer": must not be negative' },
    ]);
    expect((await api.ask("POST", path, { body: object("Gate", "b", { low: 1, high: 5 }) })).status).toBe(201);
    const shrunk = await api.ask("PATCH", `${path}/b`, { bytes: '{"spec":{"high":4}}', headers: merge });
    expect(shrunk.json["details"]?.["causes"]).toMatchObject([
      { field: "spec.high", message: expect.stringContaining("only grows") },
    ]);
  });

  test("with an optional old value judge new objects and values too", async () => {
    const once = rule("!oldSelf.hasValue() || oldSelf.value() == self", { optionalOldSelf: true, message: "stays" });
    const properties = { color: { ...text, "x-kubernetes-validations": once } };
    const made = await define({ plural: "doors", kind: "Door", spec: { properties } });
    expect(made.status, made.text).toBe(201);
    expect(made.headers["warning"]).toBeUndefined();
    const path = objects("doors");
    expect((await api.ask("POST", path, { body: object("Door", "a", {}) })).status).toBe(201);
    const paint = (color: string) =>
      api.ask("PATCH", `${path}/a`, { bytes: JSON.stringify({ spec: { color } }), headers: merge });
    expect((await paint("red")).status).toBe(200);
    expect((await paint("blue")).json["details"]?.["causes"]).toMatchObject([
      { field: "spec.color", message: expect.stringContaining("stays") },
    ]);
  });

  test("that cost too much refuse the object, soon", async () => {
    const made = await define({
      plural: "mills",
      kind: "Mill",
      spec: {
        properties: { list: { type: "array", items: { type: "integer" } } },
        "x-kubernetes-validations": rule("self.list.all(a, self.list.all(b, self.list.all(c, a + b + c >= 0)))"),
      },
    });
    expect(made.status, made.text).toBe(201);
    const list = Array.from({ length: 400 }, (_, at) => at);
    const refused = await api.ask("POST", objects("mills"), { body: object("Mill", "m", { list }) });
    expect(refused.status).toBe(422);
    expect(String(refused.json["message"])).toMatch(/cost/);
    expect((await api.ask("POST", objects("mills"), { body: object("Mill", "n", { list: [1, 2] }) })).status).toBe(201);
  });

  test.each([
    ["that is no rule", "self.(", /rule/],
    ["about a variable that does not exist", "other == 1", /other/],
    ["that is no condition", "'text'", /rule/],
  ])("a rule %s is refused where it is written", async (_what, text, message) => {
    const made = await define({ plural: "bads", kind: "Bad", spec: { "x-kubernetes-validations": rule(text) } });
    expect(made.status).toBe(422);
    expect(String(made.json["message"])).toMatch(message);
  });
});

describe("selectable fields", () => {
  test("select, and others are refused by name", async () => {
    await define({
      plural: "lamps",
      kind: "Lamp",
      spec: { properties: { color: text, watts: { type: "integer" }, on: { type: "boolean" } } },
      version: {
        selectableFields: [{ jsonPath: ".spec.color" }, { jsonPath: ".spec.watts" }, { jsonPath: ".spec.on" }],
      },
    });
    const path = objects("lamps");
    await api.ask("POST", path, { body: object("Lamp", "a", { color: "red", watts: 5, on: true }) });
    await api.ask("POST", path, { body: object("Lamp", "b", { color: "blue", watts: 5, on: false }) });
    const names = async (selector: string) => {
      const { json } = await api.ask("GET", `${path}?fieldSelector=${encodeURIComponent(selector)}`);
      return (json["items"] as unknown as Json[]).map((item) => String(item["metadata"]?.["name"]));
    };
    expect(await names("spec.color=red")).toEqual(["a"]);
    expect(await names("spec.watts=5,spec.on=false")).toEqual(["b"]);
    expect(await names("spec.color!=red,metadata.name!=a")).toEqual(["b"]);
    const refused = await api.ask("GET", `${path}?fieldSelector=spec.size%3D1`);
    expect(refused).toMatchObject({ status: 400, json: { message: "field label not supported: spec.size" } });
    const watch = await api.watch(
      `${path}?watch=1&fieldSelector=spec.color%3Dred&resourceVersion=${api.store.revision}`,
    );
    await api.ask("PATCH", `${path}/b`, { bytes: '{"spec":{"color":"red"}}', headers: merge });
    expect(await watch.next()).toMatchObject({ type: "ADDED", object: { metadata: { name: "b" } } });
    watch.close();
  });
});

describe("groups of the Kubernetes community", () => {
  test.each([
    [undefined, 422, undefined],
    ["soon", 422, undefined],
    ["https://github.com/kubernetes/kubernetes/pull/1", 201, "True ApprovedAnnotation"],
    ["unapproved, for a test", 201, "False UnapprovedAnnotation"],
  ] as const)("with the approval %s", async (approval, status, condition) => {
    const group = "demo.k8s.io";
    const annotations = approval === undefined ? {} : { "api-approved.kubernetes.io": approval };
    const made = await define({ plural: "things", kind: "Thing", group, annotations });
    expect(made.status, made.text).toBe(status);
    if (condition === undefined) {
      expect(made.json["details"]?.["causes"]).toMatchObject([
        { field: "metadata.annotations[api-approved.kubernetes.io]" },
      ]);
      return;
    }
    expect(conditionsOf(made.json)["KubernetesAPIApprovalPolicyConformant"]).toBe(condition);
    await api.ask("DELETE", `${crds}/things.${group}`);
    await waitUntil(async () => (await api.ask("GET", `${crds}/things.${group}`)).status === 404);
  });
});
