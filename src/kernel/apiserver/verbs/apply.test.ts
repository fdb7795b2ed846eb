import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ConfigMap, isConflict, isInvalid } from "#kernel/model/index.ts";
import {
  configMap,
  type Json,
  pod,
  startTestServer,
  type TestServer,
  widget,
  widgetDefinition,
} from "../testing/index.ts";

let api: TestServer;
beforeAll(async () => {
  api = await startTestServer();
  await api.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", { body: widgetDefinition });
});
afterAll(() => api.close());

const maps = "/api/v1/namespaces/default/configmaps";
const pods = "/api/v1/namespaces/default/pods";
const widgets = "/apis/demo.example.org/v1/namespaces/default/widgets";

const patch = (path: string, type: string, body: unknown, headers: Record<string, string> = {}) =>
  api.ask("PATCH", path, {
    bytes: typeof body === "string" ? body : JSON.stringify(body),
    headers: { "Content-Type": type, ...headers },
  });
const apply = (path: string, manager: string, body: unknown, query = "") =>
  patch(`${path}?fieldManager=${manager}${query}`, "application/apply-patch+yaml", body);
const merge = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  patch(path, "application/merge-patch+json", body, headers);

interface Entry {
  readonly manager: string;
  readonly operation: string;
  readonly apiVersion: string;
  readonly time: string;
  readonly subresource?: string;
  readonly fieldsV1: unknown;
}
const entries = (object: Json): readonly Entry[] =>
  (object["metadata"] as unknown as { managedFields?: readonly Entry[] }).managedFields ?? [];
const owners = (object: Json) =>
  Object.fromEntries(
    entries(object).map(({ manager, operation, subresource, fieldsV1 }) => [
      `${manager} ${operation}${subresource === undefined ? "" : ` ${subresource}`}`,
      fieldsV1,
    ]),
  );
const revision = (object: Json) => (object["metadata"] as unknown as { resourceVersion: string }).resourceVersion;

describe("apply", () => {
  test("creates with 201, changes with 200, and the same again changes nothing", async () => {
    const path = `${maps}/made`;
    const made = await apply(path, "a", configMap("made", { data: { k: "1" } }));
    expect(made.status, made.text).toBe(201);
    expect(made.json).toMatchObject({ data: { k: "1" } });
    expect(entries(made.json)).toEqual([
      {
        manager: "a",
        operation: "Apply",
        apiVersion: "v1",
        time: expect.stringMatching(/^20.*Z$/),
        fieldsType: "FieldsV1",
        fieldsV1: { "f:data": { "f:k": {} } },
      },
    ]);
    const changed = await apply(path, "a", configMap("made", { data: { k: "2" } }));
    expect([changed.status, changed.json["data"]]).toEqual([200, { k: "2" }]);
    const before = api.store.revision;
    const again = await apply(path, "a", configMap("made", { data: { k: "2" } }));
    expect(again.json).toEqual(changed.json);
    expect(api.store.revision).toBe(before);
  });

  test("reads YAML and JSON, and counts null as absent", async () => {
    const yaml = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yaml, creationTimestamp: null}\ndata:\n  k: "1"\n';
    const made = await apply(`${maps}/yaml`, "a", yaml);
    expect(made.status, made.text).toBe(201);
    expect(owners(made.json)).toEqual({ "a Apply": { "f:data": { "f:k": {} } } });
    const json = configMap("yaml", { data: { k: "1" } }, { creationTimestamp: null });
    expect((await apply(`${maps}/yaml`, "a", json)).json).toEqual(made.json);
  });

  test("removes what its manager no longer declares, and nothing else", async () => {
    const path = `${maps}/removal`;
    await apply(path, "a", configMap("removal", { data: { k: "1", l: "1" } }, { labels: { x: "1" } }));
    await merge(path, { data: { other: "1" } });
    const answer = await apply(path, "a", configMap("removal", { data: { l: "1" } }));
    expect(answer.json).toMatchObject({ data: { l: "1", other: "1" } });
    expect(answer.json["metadata"]).not.toHaveProperty("labels");
  });

  test("takes the last label away, and the owner of the labels loses what is gone", async () => {
    const path = `${maps}/unlabelled`;
    const metadata = { labels: { a: "1" } };
    await api.ask("POST", `${maps}?fieldManager=maker`, {
      body: configMap("unlabelled", { data: { k: "1" } }, metadata),
    });
    await apply(path, "a", configMap("unlabelled", {}, { labels: { a: "2" } }), "&force=true");
    const { json } = await apply(path, "a", configMap("unlabelled"));
    expect(json["metadata"]).not.toHaveProperty("labels");
    expect(owners(json)).toEqual({ "maker Update": { "f:data": { ".": {}, "f:k": {} } } });
  });

  test("is a conflict when others own what would change: 409 with the manager, one cause for each field", async () => {
    const path = `${maps}/contested`;
    await apply(path, "a", configMap("contested", { data: { k: "1", l: "1" } }));
    const one = await apply(path, "b", configMap("contested", { data: { k: "2" } }));
    expect(one.status).toBe(409);
    expect(one.json).toMatchObject({
      reason: "Conflict",
      message: 'Apply failed with 1 conflict: conflict with "a": .data.k',
      details: { causes: [{ reason: "FieldManagerConflict", message: 'conflict with "a"', field: ".data.k" }] },
    });
    const two = await apply(path, "b", configMap("contested", { data: { k: "2", l: "2" } }));
    expect(two.json["message"]).toBe('Apply failed with 2 conflicts: conflicts with "a":\n- .data.k\n- .data.l');
    const forced = await apply(path, "b", configMap("contested", { data: { k: "2" } }), "&force=true");
    expect(forced.status, forced.text).toBe(200);
    expect(owners(forced.json)).toEqual({
      "a Apply": { "f:data": { "f:l": {} } },
      "b Apply": { "f:data": { "f:k": {} } },
    });
  });

  test("names an updater with its version", async () => {
    await api.ask("POST", `${widgets}?fieldManager=u`, { body: widget("updated", { spec: { size: 1 } }) });
    const answer = await apply(`${widgets}/updated`, "a", widget("updated", { spec: { size: 2 } }));
    expect(answer.json["message"]).toBe(
      'Apply failed with 1 conflict: conflict with "u" using demo.example.org/v1: .spec.size',
    );
  });

  test("merges lists by their keys", async () => {
    const containers = (...list: object[]) => ({ ...pod("lists"), spec: { containers: list } });
    const env = (name: string) => ({ name: "main", env: [{ name, value: "1" }] });
    await apply(`${pods}/lists`, "a", containers({ ...env("A"), image: "busybox" }));
    const dry = await apply(`${pods}/lists`, "b", containers(env("B")), "&dryRun=All");
    // A Pod's environment cannot change, which is found after the lists are merged.
    expect(dry.status).toBe(422);
    const labels = await apply(
      `${pods}/lists`,
      "b",
      { ...containers({ name: "main", image: "alpine" }) },
      "&force=true",
    );
    expect(labels.status, labels.text).toBe(200);
    expect(labels.json).toMatchObject({
      spec: { containers: [{ name: "main", image: "alpine", env: [{ name: "A" }] }] },
    });
  });

  test("leaves defaults without an owner", async () => {
    const made = await apply(`${widgets}/defaulted`, "a", widget("defaulted", { spec: { size: 1 } }));
    expect(made.json["spec"]).toEqual({ size: 1, color: "red" });
    expect(owners(made.json)).toEqual({ "a Apply": { "f:spec": { "f:size": {} } } });
    const taken = await apply(`${widgets}/defaulted`, "b", widget("defaulted", { spec: { color: "blue" } }));
    expect([taken.status, taken.json["spec"]]).toEqual([200, { size: 1, color: "blue" }]);
    const given = await apply(`${widgets}/defaulted`, "b", widget("defaulted"));
    expect(given.json["spec"]).toEqual({ size: 1, color: "red" });
  });

  test("a dry run answers as if done and stores nothing", async () => {
    const before = api.store.revision;
    const made = await apply(`${maps}/dry`, "a", configMap("dry", { data: { k: "1" } }), "&dryRun=All");
    expect([made.status, owners(made.json)]).toEqual([201, { "a Apply": { "f:data": { "f:k": {} } } }]);
    expect((await api.ask("GET", `${maps}/dry`)).status).toBe(404);
    expect(api.store.revision).toBe(before);
  });

  test("to the status owns the status, and nothing in it that belongs elsewhere", async () => {
    await apply(`${widgets}/phased`, "a", widget("phased", { spec: { size: 1 } }));
    const answer = await apply(
      `${widgets}/phased/status`,
      "c",
      widget("phased", { spec: { size: 2 }, status: { phase: "Up" } }),
    );
    expect(answer.status, answer.text).toBe(200);
    expect(answer.json).toMatchObject({ spec: { size: 1 }, status: { phase: "Up" }, metadata: { generation: 1 } });
    expect(owners(answer.json)).toEqual({
      "a Apply": { "f:spec": { "f:size": {} } },
      "c Apply status": { "f:status": { "f:phase": {} } },
    });
    const main = await apply(
      `${widgets}/phased`,
      "a",
      widget("phased", { spec: { size: 1 }, status: { phase: "Down" } }),
    );
    expect(main.json).toMatchObject({ status: { phase: "Up" } });
    expect((await apply(`${widgets}/nothing/status`, "c", widget("nothing", { status: {} }))).status).toBe(404);
  });

  test("validates fields of the document", async () => {
    const wrong = widget("strict", { spec: { size: 1, sise: 2 } });
    const strict = await apply(`${widgets}/strict`, "a", wrong, "&fieldValidation=Strict");
    expect([strict.status, strict.json["message"]]).toEqual([400, 'strict decoding error: unknown field "spec.sise"']);
    const warned = await apply(`${widgets}/strict`, "a", wrong);
    expect([warned.status, warned.headers.warning]).toEqual([201, expect.stringContaining("spec.sise")]);
    expect(owners(warned.json)).toEqual({ "a Apply": { "f:spec": { "f:size": {} } } });
  });

  test("names a revision and a uid as conditions", async () => {
    const made = await apply(`${maps}/conditions`, "a", configMap("conditions", { data: { k: "1" } }));
    const { resourceVersion, uid } = made.json["metadata"] as unknown as { resourceVersion: string; uid: string };
    const at = (metadata: object) =>
      apply(`${maps}/conditions`, "a", configMap("conditions", { data: { k: "2" } }, metadata));
    expect((await at({ resourceVersion: "1" })).status).toBe(409);
    expect((await at({ uid: "other" })).status).toBe(409);
    expect((await at({ resourceVersion, uid })).status).toBe(200);
    const absent = configMap("absent", {}, { uid: "u" });
    expect((await apply(`${maps}/absent`, "a", absent)).status).toBe(409);
  });

  test("of 20 at once to one name all succeed, and one creates", async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        apply(`${maps}/rush`, `m${at}`, configMap("rush", { data: { [`k${at}`]: "1" } })),
      ),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(19);
    const { json } = await api.ask("GET", `${maps}/rush`);
    expect(Object.keys(json["data"] ?? {})).toHaveLength(20);
    expect(entries(json)).toHaveLength(20);
  });

  test.each<[string, string, unknown, number, RegExp]>([
    ["no manager", "", configMap("bad"), 400, /fieldManager is required/],
    ["a long manager", `?fieldManager=${"x".repeat(129)}`, configMap("bad"), 422, /at most 128/],
    [
      "managedFields",
      "?fieldManager=a",
      configMap("bad", {}, { managedFields: [] }),
      400,
      /metadata.managedFields must be nil/,
    ],
    ["another name", "?fieldManager=a", configMap("other"), 400, /does not match the name/],
    [
      "another namespace",
      "?fieldManager=a",
      configMap("bad", {}, { namespace: "other" }),
      400,
      /does not match the namespace/,
    ],
    ["another kind", "?fieldManager=a", { ...configMap("bad"), kind: "Secret" }, 400, /kind/],
    ["another version", "?fieldManager=a", { ...configMap("bad"), apiVersion: "v2" }, 400, /apiVersion/],
    ["a list", "?fieldManager=a", "[]", 400, /must be an object/],
    ["nothing", "?fieldManager=a", "", 400, /nothing|null/],
    ["broken JSON", "?fieldManager=a", "{", 400, /JSON/],
    ["broken YAML", "?fieldManager=a", "a: [", 400, /YAML/],
    ["two documents", "?fieldManager=a", "a: 1\n---\nb: 2\n", 400, /more than one/],
    ["a wrong force", "?fieldManager=a&force=maybe", configMap("bad"), 400, /force/],
  ])("%s is refused", async (_name, query, body, status, message) => {
    const answer = await patch(`${maps}/bad${query}`, "application/apply-patch+yaml", body);
    expect([answer.status, answer.json["message"]]).toEqual([status, expect.stringMatching(message)]);
  });

  test("a container twice is refused with its place", async () => {
    const twice = {
      ...pod("twice"),
      spec: {
        containers: [
          { name: "c", image: "i" },
          { name: "c", image: "i" },
        ],
      },
    };
    const answer = await apply(`${pods}/twice`, "a", twice);
    expect(answer.status).toBe(422);
    expect(answer.json["details"]).toMatchObject({
      causes: [{ reason: "FieldValueDuplicate", field: "spec.containers[1]" }],
    });
  });

  test("force is refused where nothing can be forced", async () => {
    await api.ask("POST", maps, { body: configMap("unforced") });
    const answer = await merge(`${maps}/unforced?force=true`, { data: { k: "1" } });
    expect([answer.status, answer.json["message"]]).toEqual([422, expect.stringContaining("non-apply patch")]);
  });

  test("names that objects inherit are ordinary keys", async () => {
    const body =
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"proto"},"data":{"__proto__":"1","constructor":"2"}}';
    const made = await apply(`${maps}/proto`, "a", body);
    expect(made.text).toContain('"data":{"__proto__":"1","constructor":"2"}');
    expect(owners(made.json)).toEqual({ "a Apply": { "f:data": { "f:__proto__": {}, "f:constructor": {} } } });
  });
});

describe("a definition whose list becomes another kind of list", () => {
  const item = (name: string, value: string) => ({ name, value });
  const group = "lists.example.org";
  const things = `/apis/${group}/v1/namespaces/default/things/t`;
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const definition = (listType: "atomic" | "map") => {
    const text = { type: "string" };
    const items = { type: "object", required: ["name"], properties: { name: text, value: text } };
    const keys = listType === "map" ? { "x-kubernetes-list-map-keys": ["name"] } : {};
    const list = { type: "array", "x-kubernetes-list-type": listType, ...keys, items };
    const spec = { type: "object", properties: { list } };
    const schema = { openAPIV3Schema: { type: "object", properties: { spec } } };
    return {
      group,
      names: { plural: "things", singular: "thing", kind: "Thing", listKind: "ThingList" },
      scope: "Namespaced",
      versions: [{ name: "v1", served: true, storage: true, schema }],
    };
  };
  const change = async (listType: "atomic" | "map") => {
    const { status } = await merge(`${definitions}/things.${group}`, { spec: definition(listType) });
    expect(status).toBe(200);
  };
  const declare = (manager: string, list: readonly object[], query?: string) =>
    apply(
      things,
      manager,
      { apiVersion: `${group}/v1`, kind: "Thing", metadata: { name: "t" }, spec: { list } },
      query,
    );
  const owned = { "f:spec": { "f:list": {} } };
  const ownedItem = (name: string) => ({
    "f:spec": { "f:list": { [`k:{"name":"${name}"}`]: { ".": {}, "f:name": {}, "f:value": {} } } },
  });
  beforeAll(async () => {
    const metadata = { name: `things.${group}` };
    const kind = "CustomResourceDefinition";
    const body = { apiVersion: "apiextensions.k8s.io/v1", kind, metadata, spec: definition("atomic") };
    await api.ask("POST", definitions, { body });
  });

  test("atomic to map: the owner keeps the list as one place, others own items, and its next apply gives it items too", async () => {
    expect(owners((await declare("a", [item("x", "1"), item("y", "1")])).json)).toEqual({ "a Apply": owned });
    await change("map");
    const { json } = await declare("b", [item("z", "1")]);
    expect(json["spec"]).toEqual({ list: [item("x", "1"), item("y", "1"), item("z", "1")] });
    expect(owners(json)).toEqual({ "a Apply": owned, "b Apply": ownedItem("z") });
    const again = await declare("a", [item("y", "1")]);
    expect(owners(again.json)).toEqual({ "a Apply": ownedItem("y"), "b Apply": ownedItem("z") });
    expect((await declare("c", [item("y", "2")])).status).toBe(409);
  });

  test("map to atomic: who owned an item owns the list", async () => {
    await change("atomic");
    const conflict = await declare("c", [item("y", "2")]);
    expect([conflict.status, conflict.json["message"]]).toEqual([
      409,
      expect.stringMatching(/conflicts with "a":\n- \.spec\.list\nconflicts with "b":\n- \.spec\.list/),
    ]);
    const forced = await declare("c", [item("y", "2")], "&force=true");
    expect(owners(forced.json)).toEqual({ "c Apply": owned });
  });
});

describe("owners of other writes", () => {
  test("the creator owns all there is, defaults as well, but not its name", async () => {
    const made = await api.ask("POST", `${widgets}?fieldManager=me`, {
      body: widget("mine", { spec: { size: 1 } }, { labels: { a: "1" } }),
    });
    expect(owners(made.json)).toEqual({
      "me Update": {
        "f:metadata": { "f:labels": { ".": {}, "f:a": {} } },
        "f:spec": { ".": {}, "f:color": {}, "f:size": {} },
      },
    });
  });

  test("who names no manager is known by its program", async () => {
    const made = await api.ask("POST", maps, {
      body: configMap("agent", { data: { k: "1" } }),
      headers: { "User-Agent": "tool/1.2 (linux)" },
    });
    expect(entries(made.json).map(({ manager }) => manager)).toEqual(["tool"]);
    const changed = await merge(`${maps}/agent`, { data: { k: "2" } }, { "User-Agent": "other" });
    expect(owners(changed.json)).toEqual({
      "tool Update": { "f:data": {} },
      "other Update": { "f:data": { "f:k": {} } },
    });
  });

  test("a PUT moves what it changes; a client that knows nothing of owners takes none away", async () => {
    const made = await api.ask("POST", `${maps}?fieldManager=a`, {
      body: configMap("put", { data: { k: "1", l: "1" } }),
    });
    const { managedFields: _unknown, ...metadata } = made.json["metadata"] as unknown as Record<string, unknown>;
    const put = await api.ask("PUT", `${maps}/put?fieldManager=b`, {
      body: { ...made.json, metadata, data: { k: "2", l: "1" } },
    });
    expect(owners(put.json)).toEqual({
      "a Update": { "f:data": { ".": {}, "f:l": {} } },
      "b Update": { "f:data": { "f:k": {} } },
    });
  });

  test("a status has owners of its own", async () => {
    await api.ask("POST", `${widgets}?fieldManager=a`, { body: widget("stated", { spec: { size: 1 } }) });
    const answer = await merge(`${widgets}/stated/status?fieldManager=a`, { status: { phase: "Up" } });
    expect(owners(answer.json)["a Update status"]).toEqual({ "f:status": { ".": {}, "f:phase": {} } });
  });

  test("[{}] makes an object without owners, which the next apply finds", async () => {
    await api.ask("POST", `${maps}?fieldManager=a`, { body: configMap("forgotten", { data: { k: "1" } }) });
    const cleared = await merge(`${maps}/forgotten`, { metadata: { managedFields: [{}] } });
    expect([cleared.status, entries(cleared.json)]).toEqual([200, []]);
    const updated = await merge(`${maps}/forgotten`, { data: { k: "2" } });
    expect(entries(updated.json)).toEqual([]);
    const conflict = await apply(`${maps}/forgotten`, "a", configMap("forgotten", { data: { k: "3" } }));
    expect(conflict.json["message"]).toContain('conflict with "before-first-apply" using v1: .data.k');
    const shared = await apply(`${maps}/forgotten`, "a", configMap("forgotten", { data: { k: "2" } }));
    expect(owners(shared.json)).toEqual({
      "a Apply": { "f:data": { "f:k": {} } },
      "before-first-apply Update": { "f:data": { ".": {}, "f:k": {} } },
    });
  });

  test("managedFields that cannot be read change nothing and bring a warning", async () => {
    const made = await api.ask("POST", `${maps}?fieldManager=a`, { body: configMap("garbled", { data: { k: "1" } }) });
    const answer = await merge(`${maps}/garbled`, {
      metadata: { managedFields: [{ manager: "x", operation: "Paint" }] },
    });
    expect([answer.status, answer.json]).toEqual([200, made.json]);
    expect(answer.headers.warning).toContain("managedFields is not changed");
  });

  test("what kubectl keeps of its document is as it was written, not as it is stored", async () => {
    const kept = "kubectl.kubernetes.io/last-applied-configuration";
    const limited = (annotations?: Readonly<Record<string, string>>) => ({
      ...pod("limited", { namespace: "default", ...(annotations === undefined ? {} : { annotations }) }),
      spec: { containers: [{ name: "c", image: "i", resources: { limits: { memory: "1024Mi" } } }] },
    });
    await api.ask("POST", pods, { body: limited({ [kept]: "{}" }) });
    const { json } = await apply(`${pods}/limited`, "kubectl", limited(), "&force=true");
    expect(json).toMatchObject({ spec: { containers: [{ resources: { limits: { memory: "1Gi" } } }] } });
    const { annotations } = json["metadata"] as unknown as { annotations: Readonly<Record<string, string>> };
    expect(JSON.parse(annotations[kept] ?? "")).toEqual(limited());
  });

  test("a client may hand its fields over by writing the list under its revision, as kubectl does", async () => {
    const made = await api.ask("POST", `${maps}?fieldManager=old`, { body: configMap("handed", { data: { k: "1" } }) });
    const list = entries(made.json).map((entry) => ({ ...entry, manager: "new", operation: "Apply" }));
    const operations = [
      { op: "replace", path: "/metadata/managedFields", value: list },
      { op: "replace", path: "/metadata/resourceVersion", value: revision(made.json) },
    ];
    const answer = await patch(`${maps}/handed`, "application/json-patch+json", operations);
    expect(answer.status, answer.text).toBe(200);
    expect(owners(answer.json)).toEqual({ "new Apply": { "f:data": { ".": {}, "f:k": {} } } });
    expect((await patch(`${maps}/handed`, "application/json-patch+json", operations)).status).toBe(409);
  });

  test("deletion and what the server does by itself leave the owners alone", async () => {
    const made = await api.ask("POST", `${maps}?fieldManager=a`, {
      body: configMap("held", { data: { k: "1" } }, { finalizers: ["x.example.org/f"] }),
    });
    const deleted = await api.ask("DELETE", `${maps}/held`);
    expect(entries(deleted.json)).toEqual(entries(made.json));
  });

  test("more than ten updaters become ancient-changes", async () => {
    await api.ask("POST", `${maps}?fieldManager=m0`, { body: configMap("many", { data: { k0: "1" } }) });
    for (let at = 1; at < 13; at++) await merge(`${maps}/many?fieldManager=m${at}`, { data: { [`k${at}`]: "1" } });
    const { json } = await api.ask("GET", `${maps}/many`);
    expect(entries(json)).toHaveLength(10);
    expect(entries(json).map(({ manager }) => manager)).toContain("ancient-changes");
  });
});

describe("in this process", () => {
  const type = ConfigMap;
  const ref = (name: string) => ({ type, namespace: "default", name });
  const map = (name: string, data: Record<string, string>) => configMap(name, { data }, { namespace: "default" });

  test("objects without a named manager have no owners, and writing them makes none", async () => {
    const made = await api.client.create(type, map("own", { k: "1" }));
    expect(made.metadata).not.toHaveProperty("managedFields");
    const updated = await api.client.update(type, { ...made, data: { k: "2" } });
    expect(updated.metadata).not.toHaveProperty("managedFields");
  });

  test("a named manager owns what it creates", async () => {
    const made = await api.client.create(type, map("named", { k: "1" }), { fieldManager: "me" });
    expect(made.metadata).toMatchObject({ managedFields: [{ manager: "me", operation: "Update" }] });
  });

  test("writes to objects that have owners are recorded as slipway's", async () => {
    await apply(`${maps}/watched`, "a", map("watched", { k: "1" }));
    const found = await api.client.get(ref("watched"));
    const updated = await api.client.update(type, { ...found, data: { k: "1", l: "1" } });
    expect(updated.metadata).toMatchObject({
      managedFields: [{ manager: "a" }, { manager: "slipway", operation: "Update" }],
    });
  });

  test("apply is a patch: it creates, shares, conflicts and forces", async () => {
    const body = map("patched", { k: "1" });
    const a = { fieldManager: "a" };
    const b = { fieldManager: "b" };
    await api.client.patch(ref("patched"), { type: "apply", body }, a);
    await expect(
      api.client.patch(ref("patched"), { type: "apply", body: map("patched", { k: "2" }) }, b),
    ).rejects.toSatisfy(isConflict);
    const forced = await api.client.patch(
      ref("patched"),
      { type: "apply", body: map("patched", { k: "2" }), force: true },
      b,
    );
    expect(forced).toMatchObject({ data: { k: "2" } });
    await expect(api.client.patch(ref("patched"), { type: "apply", body })).rejects.toThrow(/fieldManager is required/);
    const twice = { ...pod("x", { namespace: "default" }), spec: { containers: [{ name: "c" }, { name: "c" }] } };
    const podRef = { ...ref("x"), type: { ...type, kind: "Pod", plural: "pods", singular: "pod" } };
    await expect(api.client.patch(podRef, { type: "apply", body: twice }, a)).rejects.toSatisfy(isInvalid);
  });
});
