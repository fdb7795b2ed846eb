import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isConflict, type KubeObject } from "#kernel/model/index.ts";
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
  const made = await api.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
    body: widgetDefinition,
  });
  expect(made.status).toBe(201);
});
afterAll(() => api.close());

const maps = "/api/v1/namespaces/default/configmaps";
const pods = "/api/v1/namespaces/default/pods";
const widgets = "/apis/demo.example.org/v1/namespaces/default/widgets";

async function create(path: string, body: object): Promise<Json> {
  const answer = await api.ask("POST", path, { body });
  expect(answer.status, answer.text).toBe(201);
  return answer.json;
}
const merge = (path: string, body: unknown, query = "") =>
  api.ask("PATCH", `${path}${query}`, {
    bytes: JSON.stringify(body),
    headers: { "Content-Type": "application/merge-patch+json" },
  });
const meta = (object: Json): Record<string, unknown> => object["metadata"] as unknown as Record<string, unknown>;

describe("create", () => {
  test("stamps what the server owns and drops what clients may not set", async () => {
    const sent = configMap(
      "stamped",
      {},
      {
        uid: "mine",
        generation: 7,
        creationTimestamp: "2001-01-01T00:00:00Z",
        deletionTimestamp: "2001-01-01T00:00:00Z",
        selfLink: "/x",
        managedFields: [{ manager: "me" }],
      },
    );
    const made = meta(await create(maps, sent));
    expect(made["uid"]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    expect(made["creationTimestamp"]).toMatch(/^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(made["creationTimestamp"]).not.toBe("2001-01-01T00:00:00Z");
    expect(Object.keys(made).sort()).toEqual(["creationTimestamp", "name", "namespace", "resourceVersion", "uid"]);
  });

  test("an existing name is a conflict that names it", async () => {
    await create(maps, configMap("twice"));
    const again = await api.ask("POST", maps, { body: configMap("twice") });
    expect(again.status).toBe(409);
    expect(again.json).toMatchObject({
      reason: "AlreadyExists",
      message: 'configmaps "twice" already exists',
      details: { name: "twice", kind: "configmaps" },
    });
  });

  test("generateName makes names, and a name wins over it", async () => {
    const names = new Set<unknown>();
    for (let count = 0; count < 20; count++) {
      const made = await create(maps, { apiVersion: "v1", kind: "ConfigMap", metadata: { generateName: "made-" } });
      names.add(meta(made)["name"]);
    }
    expect(names.size).toBe(20);
    for (const name of names) expect(name).toMatch(/^made-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    const named = await create(maps, configMap("named", {}, { generateName: "made-" }));
    expect(meta(named)["name"]).toBe("named");
  });

  test("a custom object is defaulted and begins with generation 1, without its status", async () => {
    const made = await create(widgets, widget("fresh", { spec: { size: 1 }, status: { phase: "Done" } }));
    expect(made).toMatchObject({ spec: { size: 1, color: "red" }, metadata: { generation: 1 } });
    expect(made["status"]).toBeUndefined();
  });

  test("the path says what a body of a built-in kind leaves out, but not for custom kinds", async () => {
    const { apiVersion, kind, ...bare } = configMap("bare");
    const made = await create(maps, bare);
    expect(Object.entries(made).slice(0, 2)).toEqual(Object.entries({ apiVersion, kind }));
    const changed = await api.ask("PUT", `${maps}/bare`, { body: { ...bare, kind: "", data: { a: "1" } } });
    expect([changed.status, changed.json]).toMatchObject([200, { apiVersion, kind, data: { a: "1" } }]);
    const wrong = await api.ask("POST", maps, { body: { ...bare, kind: "Secret" } });
    expect(wrong.status).toBe(400);
    const { kind: _kind, ...custom } = widget("bare");
    const refused = await api.ask("POST", widgets, { body: custom });
    expect([refused.status, refused.json["message"]]).toEqual([400, 'kind is missing, expected "Widget"']);
  });

  test("a namespace that is going away takes nothing more", async () => {
    await create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "ending" } });
    const path = "/api/v1/namespaces/ending/configmaps";
    await create(path, configMap("held", {}, { finalizers: ["example.org/wait"] }));
    await api.ask("DELETE", "/api/v1/namespaces/ending");
    const late = await api.ask("POST", path, { body: configMap("late") });
    expect(late.status).toBe(403);
    expect(late.json["details"]).toMatchObject({ causes: [{ reason: "NamespaceTerminating" }] });
    await merge(`${path}/held`, { metadata: { finalizers: null } });
  });
});

describe("field validation", () => {
  const unknown = widget("strict", { spec: { size: 1, colour: "red" }, extra: true });

  test("Strict refuses unknown and repeated fields, all at once", async () => {
    const text = JSON.stringify(unknown).replace('"size":1', '"size":1,"size":2');
    const answer = await api.ask("POST", `${widgets}?fieldValidation=Strict`, {
      bytes: text,
      headers: { "Content-Type": "application/json" },
    });
    expect(answer.status).toBe(400);
    expect(String(answer.json["message"])).toMatch(/strict decoding error: .*unknown field "spec\.colour"/);
    expect(String(answer.json["message"])).toMatch(/duplicate field "spec\.size"/);
    expect(String(answer.json["message"])).toMatch(/unknown field "extra"/);
  });

  test("Warn is the default: it prunes and says so in headers", async () => {
    const answer = await api.ask("POST", widgets, { body: { ...unknown, metadata: { name: "warned" } } });
    expect(answer.status).toBe(201);
    expect(answer.json["spec"]).toEqual({ size: 1, color: "red" });
    expect(answer.headers["warning"]).toContain('299 - "unknown field \\"spec.colour\\""');
  });

  test("judges what a YAML body holds twice like what a JSON body does", async () => {
    const bytes = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: duplicate-keys}\ndata: {k: a, k: b}\n";
    const send = (mode: string) =>
      api.ask("POST", `/api/v1/namespaces/default/configmaps?dryRun=All&fieldValidation=${mode}`, {
        bytes,
        headers: { "Content-Type": "application/yaml" },
      });
    const strict = await send("Strict");
    expect([strict.status, strict.json["message"]]).toEqual([400, 'strict decoding error: duplicate field "data.k"']);
    const warned = await send("Warn");
    expect([warned.status, warned.json["data"]]).toEqual([201, { k: "b" }]);
    expect(warned.headers["warning"]).toContain('299 - "duplicate field \\"data.k\\""');
    expect((await send("Ignore")).headers["warning"]).toBeUndefined();
  });

  test("Ignore prunes in silence", async () => {
    const answer = await api.ask("POST", `${widgets}?fieldValidation=Ignore`, {
      body: { ...unknown, metadata: { name: "ignored" } },
    });
    expect(answer.status).toBe(201);
    expect(answer.headers["warning"]).toBeUndefined();
  });

  test("a patch is held to it as well, and is itself what is invalid", async () => {
    await create(widgets, widget("patched-strictly", { spec: {} }));
    const strict = async (spec: object) =>
      (await merge(`${widgets}/patched-strictly`, { spec }, "?fieldValidation=Strict")).json["details"]?.["causes"];
    const message = 'Invalid value: strict decoding error: unknown field "spec.colour"';
    expect(await strict({ colour: "x" })).toEqual([{ reason: "FieldValueInvalid", field: "patch", message }]);
  });
});

describe("update", () => {
  test("of a built-in kind needs no resourceVersion, of a custom kind it does", async () => {
    // 0 is none, as in Kubernetes.
    await create(maps, configMap("loose", {}, { resourceVersion: "0" }));
    const zero = configMap("loose", { data: { a: "0" } }, { resourceVersion: "0" });
    expect((await api.ask("PUT", `${maps}/loose`, { body: zero })).status).toBe(200);
    expect((await api.ask("PUT", `${maps}/loose`, { body: configMap("loose", { data: { a: "1" } }) })).status).toBe(
      200,
    );
    const made = await create(widgets, widget("tight", { spec: { size: 1 } }));
    const blind = await api.ask("PUT", `${widgets}/tight`, { body: widget("tight", { spec: { size: 2 } }) });
    expect(blind.status).toBe(422);
    expect(String(blind.json["message"])).toMatch(/metadata\.resourceVersion/);
    const seen = await api.ask("PUT", `${widgets}/tight`, { body: { ...made, spec: { size: 2 } } });
    expect(seen.status).toBe(200);
    expect(seen.json).toMatchObject({ spec: { size: 2, color: "red" }, metadata: { generation: 2 } });
  });

  test("with an old resourceVersion conflicts", async () => {
    const made = await create(maps, configMap("raced"));
    await api.ask("PUT", `${maps}/raced`, { body: { ...made, data: { a: "1" } } });
    const late = await api.ask("PUT", `${maps}/raced`, { body: { ...made, data: { a: "2" } } });
    expect(late.status).toBe(409);
    expect(late.json).toMatchObject({ reason: "Conflict", details: { name: "raced", kind: "configmaps" } });
  });

  test("of what does not exist creates nothing", async () => {
    expect((await api.ask("PUT", `${maps}/absent`, { body: configMap("absent") })).status).toBe(404);
  });

  test("must name the object of the path", async () => {
    await create(maps, configMap("here"));
    expect((await api.ask("PUT", `${maps}/here`, { body: configMap("there") })).status).toBe(400);
  });

  test("does not change what is immutable in metadata", async () => {
    const made = await create(maps, configMap("fixed"));
    const moved = { ...made, metadata: { ...meta(made), creationTimestamp: "2001-01-01T00:00:00Z" } };
    const answer = await api.ask("PUT", `${maps}/fixed`, { body: moved });
    expect(answer.status).toBe(422);
    expect(String(answer.json["message"])).toMatch(/metadata\.creationTimestamp/);
    const doomed = { ...made, metadata: { ...meta(made), deletionTimestamp: "2001-01-01T00:00:00Z" } };
    expect((await api.ask("PUT", `${maps}/fixed`, { body: doomed })).status).toBe(422);
  });

  test("takes an instant in other words for the one it is", async () => {
    const made = await create(maps, configMap("timed"));
    const inMillis = String(meta(made)["creationTimestamp"]).replace("Z", ".000Z");
    const before = api.store.revision;
    const body = { ...made, metadata: { ...meta(made), creationTimestamp: inMillis } };
    const answer = await api.ask("PUT", `${maps}/timed`, { body });
    expect([answer.status, answer.json]).toEqual([200, made]);
    expect(api.store.revision).toBe(before);
  });

  test("that changes nothing writes nothing", async () => {
    const made = await create(widgets, widget("calm", { spec: { size: 1 } }));
    const before = api.store.revision;
    const unkept = { managedFields: [{ manager: "me" }], annotations: {}, finalizers: [] };
    const put = await api.ask("PUT", `${widgets}/calm`, { body: { ...made, metadata: { ...meta(made), ...unkept } } });
    const patched = await merge(`${widgets}/calm`, { spec: { size: 1 }, metadata: { labels: {} } });
    for (const answer of [put, patched]) {
      expect(answer.status, answer.text).toBe(200);
      expect(answer.json).toEqual(made);
    }
    expect(api.store.revision).toBe(before);
  });

  test("metadata alone leaves the generation", async () => {
    await create(widgets, widget("labelled", { spec: { size: 1 } }));
    const answer = await merge(`${widgets}/labelled`, { metadata: { labels: { a: "b" } } });
    expect(answer.json).toMatchObject({ metadata: { generation: 1, labels: { a: "b" } } });
  });
});

describe("the status subresource", () => {
  test("takes only the status, and the main endpoint everything else", async () => {
    const made = await create(widgets, widget("split", { spec: { size: 1 } }));
    const status = await api.ask("PUT", `${widgets}/split/status`, {
      body: { ...made, spec: { size: 9 }, status: { phase: "Up" } },
    });
    expect(status.json).toMatchObject({ spec: { size: 1 }, status: { phase: "Up" }, metadata: { generation: 1 } });
    const main = await api.ask("PUT", `${widgets}/split`, {
      body: { ...status.json, spec: { size: 2 }, status: { phase: "Down" } },
    });
    expect(main.json).toMatchObject({ spec: { size: 2 }, status: { phase: "Up" }, metadata: { generation: 2 } });
    expect((await api.ask("GET", `${widgets}/split/status`)).json).toEqual(main.json);
    const patched = await merge(`${widgets}/split/status`, { status: { phase: "Gone" }, spec: { size: 3 } });
    expect(patched.json).toMatchObject({ spec: { size: 2 }, status: { phase: "Gone" } });
  });

  test("does not exist for kinds without one", async () => {
    await create(maps, configMap("plain"));
    expect((await api.ask("GET", `${maps}/plain/status`)).status).toBe(404);
  });
});

describe("patch", () => {
  test("all three types change a built-in object", async () => {
    await create(pods, pod("patched"));
    const strategic = await api.ask("PATCH", `${pods}/patched`, {
      bytes: JSON.stringify({ spec: { containers: [{ name: "main", image: "alpine" }] } }),
      headers: { "Content-Type": "application/strategic-merge-patch+json" },
    });
    expect(strategic.status, strategic.text).toBe(200);
    expect(strategic.json).toMatchObject({
      spec: { containers: [{ name: "main", image: "alpine", terminationMessagePath: "/dev/termination-log" }] },
    });
    const json = await api.ask("PATCH", `${pods}/patched`, {
      bytes: JSON.stringify([{ op: "add", path: "/metadata/labels", value: { a: "b" } }]),
      headers: { "Content-Type": "application/json-patch+json" },
    });
    expect(json.json).toMatchObject({ metadata: { labels: { a: "b" } } });
    const merged = await merge(`${pods}/patched`, { metadata: { labels: { a: null, c: "d" } } });
    expect(meta(merged.json)["labels"]).toEqual({ c: "d" });
  });

  test("a hundred at once that retry on conflict all count", async () => {
    const type =
      (await api.client.resourceType("demo.example.org/v1", "Widget")) ?? expect.fail("widgets are not served");
    interface Counter extends KubeObject {
      readonly spec: { readonly size: number };
    }
    await create(widgets, widget("counted", { spec: { size: 0 } }));
    const ref = { type, namespace: "default", name: "counted" };
    const increment = async (): Promise<unknown> => {
      const now = await api.client.get<Counter>(ref);
      const next = { ...now, spec: { ...now.spec, size: now.spec.size + 1 } };
      return api.client.update(type, next).catch((thrown: unknown) => {
        expect(isConflict(thrown)).toBe(true);
        return increment();
      });
    };
    await Promise.all(Array.from({ length: 100 }, increment));
    expect((await api.client.get<Counter>(ref)).spec.size).toBe(100);
  });
});

describe("dry runs", () => {
  test("answer like the real thing and change nothing", async () => {
    await create(maps, configMap("dry", {}, { finalizers: ["example.org/a"] }));
    await create(maps, configMap("dry-free"));
    const before = api.store.revision;
    const query = "?dryRun=All";
    const created = await api.ask("POST", `${maps}${query}`, { body: configMap("dry-new") });
    expect(created.status).toBe(201);
    expect(meta(created.json)["uid"]).toBeDefined();
    expect(meta(created.json)["resourceVersion"]).toBeUndefined();
    expect((await api.ask("POST", `${maps}${query}`, { body: configMap("dry") })).status).toBe(409);
    expect((await merge(`${maps}/dry`, { data: { a: "1" } }, query)).json["data"]).toEqual({ a: "1" });
    expect(meta((await api.ask("DELETE", `${maps}/dry${query}`)).json)["deletionTimestamp"]).toBeDefined();
    expect((await api.ask("DELETE", `${maps}/dry-free${query}`)).json).toMatchObject({
      kind: "Status",
      status: "Success",
    });
    expect((await api.ask("DELETE", `${maps}/dry-free`, { body: { dryRun: ["All"] } })).status).toBe(200);
    expect((await api.ask("DELETE", `${maps}${query}`)).json["items"]).not.toHaveLength(0);
    expect(api.store.revision).toBe(before);
  });
});

describe("delete", () => {
  test("removes an object without finalizers and tells its uid", async () => {
    const made = await create(maps, configMap("simple"));
    const answer = await api.ask("DELETE", `${maps}/simple`);
    expect(answer.json).toMatchObject({
      kind: "Status",
      status: "Success",
      details: { name: "simple", kind: "configmaps", uid: meta(made)["uid"] },
    });
    expect((await api.ask("DELETE", `${maps}/simple`)).status).toBe(404);
  });

  test("finalizers hold an object until the last one is gone", async () => {
    await create(widgets, widget("held", { spec: {} }, { finalizers: ["example.org/a", "example.org/b"] }));
    const deleted = await api.ask("DELETE", `${widgets}/held`, { body: { orphanDependents: false } });
    expect(deleted.status).toBe(202);
    expect(meta(deleted.json)).toMatchObject({ generation: 2, deletionGracePeriodSeconds: 0 });
    const again = await api.ask("DELETE", `${widgets}/held`);
    expect(meta(again.json)["resourceVersion"]).toBe(meta(deleted.json)["resourceVersion"]);
    const added = await merge(`${widgets}/held`, {
      metadata: { finalizers: ["example.org/a", "example.org/b", "example.org/c"] },
    });
    expect(added.status).toBe(422);
    const revived = await merge(`${widgets}/held`, { metadata: { deletionTimestamp: null } });
    expect(meta(revived.json)["deletionTimestamp"]).toBe(meta(deleted.json)["deletionTimestamp"]);
    await merge(`${widgets}/held`, { metadata: { finalizers: ["example.org/b"] } });
    const last = await merge(`${widgets}/held`, { metadata: { finalizers: null } });
    expect(last.status).toBe(200);
    expect((await api.ask("GET", `${widgets}/held`)).status).toBe(404);
  });

  test("a Pod that runs gets its period, which can only become shorter", async () => {
    await create(pods, { ...pod("graceful"), spec: { ...pod("graceful").spec, nodeName: "here" } });
    const first = await api.ask("DELETE", `${pods}/graceful`, { body: { gracePeriodSeconds: 20 } });
    expect(first.status).toBe(200);
    expect(meta(first.json)["deletionGracePeriodSeconds"]).toBe(20);
    const longer = await api.ask("DELETE", `${pods}/graceful?gracePeriodSeconds=40`);
    expect(meta(longer.json)["deletionGracePeriodSeconds"]).toBe(20);
    const shorter = await api.ask("DELETE", `${pods}/graceful`, { body: { gracePeriodSeconds: 5 } });
    expect(meta(shorter.json)["deletionGracePeriodSeconds"]).toBe(5);
    const now = await api.ask("DELETE", `${pods}/graceful`, { body: { gracePeriodSeconds: 0 } });
    expect(now.json).toMatchObject({ kind: "Pod" });
    expect((await api.ask("GET", `${pods}/graceful`)).status).toBe(404);
  });

  test("of a collection takes what the selector names and lists it", async () => {
    for (const name of ["c1", "c2", "c3"])
      await create(maps, configMap(name, {}, { labels: { set: name === "c3" ? "b" : "a" } }));
    await create(maps, configMap("c4", {}, { labels: { set: "a" }, finalizers: ["example.org/a"] }));
    const answer = await api.ask("DELETE", `${maps}?labelSelector=set%3Da`);
    expect(answer.json["kind"]).toBe("ConfigMapList");
    expect((answer.json["items"] as unknown as Json[]).map((item) => meta(item)["name"])).toEqual(["c1", "c2", "c4"]);
    const left = await api.ask("GET", `${maps}?labelSelector=set`);
    expect((left.json["items"] as unknown as Json[]).map((item) => meta(item)["name"])).toEqual(["c3", "c4"]);
    await merge(`${maps}/c4`, { metadata: { finalizers: null } });
  });

  test("of a collection with a limit takes so many, and says where to go on", async () => {
    for (const name of ["l1", "l2", "l3"]) await create(maps, configMap(name, {}, { labels: { set: "limited" } }));
    const rounds: unknown[] = [];
    for (let token: string | undefined = ""; token !== undefined && rounds.length < 9; ) {
      const { json } = await api.ask("DELETE", `${maps}?labelSelector=set%3Dlimited&limit=2&continue=${token}`);
      rounds.push((json["items"] as unknown as Json[]).map((item) => meta(item)["name"]));
      token = meta(json)["continue"] as string | undefined;
    }
    expect(rounds.flat()).toEqual(["l1", "l2", "l3"]);
    expect(rounds[0]).toEqual(["l1", "l2"]);
  });

  test.each([
    ["services", { kind: "Service", spec: { ports: [{ port: 80 }] } }],
    ["serviceaccounts", { kind: "ServiceAccount" }],
    ["resourcequotas", { kind: "ResourceQuota", spec: {} }],
    ["pods", { kind: "Pod", spec: { containers: [{ name: "c", image: "i" }] } }],
  ])("of one of the %s answers with the object", async (plural, object) => {
    const path = `/api/v1/namespaces/default/${plural}`;
    await create(path, { apiVersion: "v1", metadata: { name: "gone" }, ...object });
    const { status, json } = await api.ask("DELETE", `${path}/gone`);
    expect({ status, kind: json["kind"] }).toEqual({ status: 200, kind: object.kind });
    expect((await api.ask("GET", `${path}/gone`)).status).toBe(404);
  });

  test("that waits is 202 for who asks in the old way, and 200 for all others", async () => {
    for (const name of ["old", "new", "free"])
      await create(maps, configMap(name, {}, name === "free" ? {} : { finalizers: ["example.org/a"] }));
    const remove = (name: string, body: object) => api.ask("DELETE", `${maps}/${name}`, { body });
    const answers = [
      await remove("old", { orphanDependents: false }),
      await remove("new", { propagationPolicy: "Background" }),
      await remove("free", { orphanDependents: false }),
    ];
    expect(answers.map(({ status, json }) => [status, json["kind"]])).toEqual([
      [202, "ConfigMap"],
      [200, "ConfigMap"],
      [200, "Status"],
    ]);
    for (const name of ["old", "new"]) await merge(`${maps}/${name}`, { metadata: { finalizers: null } });
  });
});

describe("versions of one custom kind", () => {
  test("share their objects and answer in the version asked", async () => {
    await create(widgets, widget("versioned", { spec: { size: 3 } }));
    const beta = "/apis/demo.example.org/v1beta1/namespaces/default/widgets";
    const found = await api.ask("GET", `${beta}/versioned`);
    expect(found.json).toMatchObject({ apiVersion: "demo.example.org/v1beta1", spec: { size: 3 } });
    const put = await api.ask("PUT", `${beta}/versioned`, { body: { ...found.json, spec: { size: 4 } } });
    expect(put.json).toMatchObject({ apiVersion: "demo.example.org/v1beta1", spec: { size: 4 } });
    expect((await api.ask("GET", `${widgets}/versioned`)).json).toMatchObject({
      apiVersion: "demo.example.org/v1",
      spec: { size: 4 },
    });
    const list = await api.ask("GET", `${beta}?fieldSelector=metadata.name%3Dversioned`);
    expect(list.json["items"]).toEqual([put.json]);
  });
});

describe("Events", () => {
  test("are one store seen by two groups", async () => {
    const core = {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: "happened", namespace: "default" },
      involvedObject: { kind: "Pod", name: "p", namespace: "default" },
      reason: "Started",
      message: "it began",
      type: "Normal",
      source: { component: "test" },
    };
    await create("/api/v1/namespaces/default/events", core);
    const other = await api.ask("GET", "/apis/events.k8s.io/v1/namespaces/default/events/happened");
    expect(other.json).toMatchObject({
      apiVersion: "events.k8s.io/v1",
      note: "it began",
      regarding: { name: "p" },
      deprecatedSource: { component: "test" },
    });
    const selected = await api.ask("GET", "/apis/events.k8s.io/v1/events?fieldSelector=regarding.name%3Dp");
    expect(selected.json["items"]).toHaveLength(1);
    expect(
      (await api.ask("GET", "/api/v1/events?fieldSelector=involvedObject.name%3Dp,reason%3DStarted")).json["items"],
    ).toHaveLength(1);
  });
});
