import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type JsonObject, type JsonValue, listAt, objectAt, textAt, textsAt } from "#lib/base/index.ts";
import { addWorkflow } from "../store/testing/store-fixture.ts";
import { randomBytes } from "node:crypto";
import { seal } from "../secure/box.ts";
import { ApiFixture, type Reply } from "./testing/api-fixture.ts";

let api: ApiFixture;
beforeAll(async () => {
  api = await ApiFixture.open();
  await addWorkflow(api.store);
});
afterAll(() => api.close());

const post = (path: string, body: JsonValue): Promise<Reply> => api.ask("POST", path, { body });
const machineOf = async (body: JsonObject): Promise<string> =>
  textAt((await post("/machines", body)).json, "Uuid") ?? "";
const messages = ({ json }: Reply): readonly string[] => textsAt(json, "Messages");

test("every refusal has the five members that clients read", async () => {
  const reply = await api.ask("GET", "/machines/none");
  expect(Object.keys(objectAt(reply.json) ?? {}).sort()).toEqual(["Code", "Key", "Messages", "Model", "Type"]);
  expect((await api.ask("PUT", "/machines")).json).toMatchObject({ Code: 404, Messages: ["No route"] });
  expect((await api.ask("GET", "/nothing")).json).toMatchObject({ Code: 404, Messages: ["No route"] });
  expect((await api.ask("GET", "/machines/a%zz")).code).toBe(400);
  expect((await api.ask("GET", "/machines/none/constructor")).json).toMatchObject({ Messages: ["No route"] });
  expect((await api.ask("GET", "/indexes/machines/constructor")).json).toEqual({});
});

describe("a body", () => {
  const sent = (type: string, text: string) =>
    api.ask("POST", "/profiles", { bytes: Buffer.from(text), headers: { "content-type": type } });

  test("of another type, that does not parse, or of another shape is 400", async () => {
    expect(messages(await sent("text/plain", "{}"))).toEqual(["Invalid content type: text/plain"]);
    expect((await sent("application/json", "{")).json).toMatchObject({ Code: 400, Type: "POST", Model: "profiles" });
    expect((await sent("application/json", "[]")).code).toBe(400);
    expect((await sent("application/json; charset=utf-8", '{"Name":1}')).json).toMatchObject({
      Code: 400,
      Type: "POST",
    });
    expect((await sent("application/json; charset=utf-8", '{"Name":"fine"}')).code).toBe(201);
    expect((await sent("application/json", '{"Name":"fine"}')).json).toMatchObject({ Code: 409, Type: "CREATE" });
  });
});

describe("a patch", () => {
  test("14.8, 14.10 with a failing test, or of a path that does not exist, is 409 and changes nothing", async () => {
    const uuid = await machineOf({ Name: "patch.example" });
    const patch = [
      { op: "replace", path: "/Description", value: "changed" },
      { op: "test", path: "/Name", value: "other" },
    ];
    const failed = await api.ask("PATCH", `/machines/${uuid}`, { body: patch });
    expect(failed.json).toMatchObject({ Code: 409, Type: "PATCH", Model: "machines", Key: uuid });
    expect(messages(failed)).toEqual([
      "Patch error at line 1: Test op failed.",
      `Patch: ${JSON.stringify(patch, null, 2)}`,
    ]);
    const missing = await api.ask("PATCH", `/machines/${uuid}`, { body: [{ op: "replace", path: "/None", value: 1 }] });
    expect(missing.code).toBe(409);
    expect(textAt((await api.ask("GET", `/machines/${uuid}`)).json, "Description")).toBeUndefined();
    const root = [{ op: "test", path: "", value: (await api.ask("GET", `/machines/${uuid}`)).json }];
    expect((await api.ask("PATCH", `/machines/${uuid}`, { body: root })).code).toBe(200);
  });

  test("14.9 whose result has another shape is 406, and one that is no list 400", async () => {
    const uuid = await machineOf({ Name: "shape.example" });
    const wrong = await api.ask("PATCH", `/machines/${uuid}`, {
      body: [{ op: "replace", path: "/Runnable", value: "yes" }],
    });
    expect(wrong.json).toMatchObject({ Code: 406, Type: "PATCH" });
    expect((await api.ask("PATCH", `/machines/${uuid}`, { body: {} })).code).toBe(400);
  });

  test("15.33 of two clients that test the same value at once, exactly one wins", async () => {
    const uuid = await machineOf({ Name: "race.example" });
    const patch = (to: string) =>
      api.ask("PATCH", `/machines/${uuid}`, {
        body: [
          { op: "test", path: "/Description", value: "" },
          { op: "replace", path: "/Description", value: to },
        ],
      });
    const replies = await Promise.all([patch("one"), patch("two")]);
    expect(replies.map(({ code }) => code).toSorted((a, b) => a - b)).toEqual([200, 409]);
  });
});

describe("14.11-14.14 creating a machine", () => {
  test.each<[string, JsonObject, RegExp]>([
    ["without a name", {}, /Invalid Name/],
    ["with a slash in its name", { Name: "foo/" }, /Invalid Name/],
    ["with an unknown stage", { Name: "m-1", Stage: "baz" }, /Stage baz does not exist/],
    ["with an unknown boot environment", { Name: "m-1", BootEnv: "bar" }, /Bootenv bar does not exist/],
    ["with an unknown profile", { Name: "m-1", Profiles: ["foo"] }, /: Profile foo \(at 0\) does not exist/],
    [
      "with a doubled profile",
      { Name: "m-1", Profiles: ["global", "global"] },
      /: Duplicate profile global: at 0 and 1/,
    ],
    ["with a stage entry of no stage", { Name: "m-1", Tasks: ["stage:nope"] }, /Stage nope \(at 0\) does not exist/],
    ["with a malformed entry", { Name: "m-1", Tasks: ["foo:bar"] }, /foo:bar \(at 0\) is malformed/],
  ])("%s is 422", async (_what, body, message) => {
    const reply = await post("/machines", body);
    expect([reply.code, textAt(reply.json, "Type")]).toEqual([422, "ValidationError"]);
    expect(messages(reply).join("\n")).toMatch(message);
  });
});

test("14.15, 14.16 a value against its schema is 422 in the machine's body and 409 at its own address", async () => {
  await post("/params", { Name: "count/of", Schema: { type: "integer" } });
  const refused = await post("/machines", { Name: "value.example", Params: { "count/of": "x" } });
  expect(refused.code).toBe(422);
  const uuid = await machineOf({ Name: "value.example" });
  const set = await post(`/machines/${uuid}/params/count/of`, "x");
  expect(set.code).toBe(409);
  expect(messages(set).join()).toMatch(/Key 'count\/of': invalid val 'x'/);
  expect((await post("/params", { Name: "bad", Schema: { type: "bogus" } })).code).toBe(422);
  expect((await post("/params", { Name: "bad", Schema: { type: "string", default: 1 } })).code).toBe(422);
});

test("14.27 lists with unknown filters, unsortable sorts and negative limits are 406; others have their counts", async () => {
  expect(messages(await api.ask("GET", "/machines?Nope=1"))).toEqual(["Filter not found: Nope"]);
  expect((await api.ask("GET", "/machines?sort=Params")).json).toMatchObject({
    Code: 406,
    Messages: ["Not sortable: Params"],
  });
  expect(messages(await api.ask("GET", "/machines?limit=-1"))).toEqual(["Limit cannot be negative"]);
  expect((await api.ask("GET", "/machines?Uuid=x")).code).toBe(406);
  const tasks = await api.ask("GET", "/tasks?Name=Re(t[ab])&limit=1&slim=Meta");
  expect(tasks.headers).toMatchObject({
    "x-drp-list-total-count": "3",
    "x-drp-list-filter-count": "2",
    "x-drp-list-count": "1",
  });
  expect(tasks.json).toMatchObject([{ Name: "ta", Meta: {} }]);
  expect((await api.ask("HEAD", "/tasks")).headers["x-drp-list-filter-count"]).toBe("3");
});

test("14.22, 14.23 objects of bundles cannot be changed, and what is in use not deleted", async () => {
  const readonly = await api.ask("PATCH", "/stages/none", {
    body: [{ op: "replace", path: "/Description", value: "x" }],
  });
  expect(readonly.json).toMatchObject({ Code: 403, Type: "PATCH", Messages: ["readonly: none"] });
  expect((await api.ask("DELETE", "/stages/none")).json).toMatchObject({ Code: 403, Type: "DELETE" });
  expect((await api.ask("DELETE", "/tasks/ta")).json).toMatchObject({ Code: 409, Type: "StillInUseError" });
});

test("14.28 a locked machine refuses users and not its agent", async () => {
  const { uuid, auth } = await api.machine({ Name: "locked.example" });
  const change = (path: string, value: JsonValue, how = {}) =>
    api.ask("PATCH", `/machines/${uuid}`, { body: [{ op: "replace", path, value }], ...how });
  await change("/Locked", true);
  expect((await change("/Description", "x")).json).toMatchObject({ Code: 403 });
  expect((await change("/Description", "x", { auth })).code).toBe(200);
  expect((await change("/Locked", false)).code).toBe(200);
});

test("params have addresses of their own: absent values are null, names may have slashes", async () => {
  const uuid = await machineOf({ Name: "params.example", Params: { aa: 1 } });
  const path = `/machines/${uuid}/params`;
  expect((await api.ask("GET", path)).json).toEqual({ aa: 1 });
  expect((await api.ask("GET", `${path}/change-stage/map`)).text).toBe("null");
  expect((await post(`${path}/change-stage/map`, { a: "b" })).json).toEqual({ a: "b" });
  expect((await api.ask("GET", `${path}/change-stage/map`)).json).toEqual({ a: "b" });
  const patch = (body: JsonValue) => api.ask("PATCH", path, { body });
  expect((await patch([{ op: "add", path: "/bb", value: [1] }])).json).toMatchObject({ aa: 1, bb: [1] });
  expect(messages(await patch([{ op: "test", path: "/bb", value: 0 }]))[0]).toBe(
    "Patch failed to apply at line 0: Test op failed.",
  );
  expect((await api.ask("DELETE", `${path}/bb`)).json).toEqual([1]);
  expect((await api.ask("DELETE", `${path}/bb`)).code).toBe(404);
  expect((await post(path, { cc: true })).json).toEqual({ cc: true });
  await post("/profiles/global/params/dd", 4);
  expect((await api.ask("GET", `${path}?aggregate=true`)).json).toEqual({ cc: true, dd: 4 });
  expect((await api.ask("GET", `${path}/dd?aggregate=true`)).json).toBe(4);
  expect((await api.ask("GET", `${path}/dd`)).text).toBe("null");
  expect((await api.ask("GET", `${path}?aggregate=true&params=dd`)).json).toEqual({ dd: 4 });
  expect((await api.ask("GET", `/machines/${uuid}?params=cc,dd`)).json).toMatchObject({
    Params: { cc: true },
    Partial: true,
  });
  expect((await api.ask("GET", `/machines/${uuid}/pubkey`)).json).toMatch(/^[\w+/]{43}=$/);
});

test("metadata has an address of its own", async () => {
  const uuid = await machineOf({ Name: "meta.example", Meta: { a: "1" } });
  const path = `/meta/machines/${uuid}`;
  expect((await api.ask("PATCH", path, { body: [{ op: "add", path: "/b", value: "2" }] })).json).toMatchObject({
    a: "1",
    b: "2",
  });
  expect((await api.ask("GET", path)).json).toMatchObject({ a: "1", b: "2" });
  expect((await api.ask("GET", "/meta/machines/none")).code).toBe(404);
  expect((await api.ask("GET", "/meta/nothing/none")).code).toBe(404);
});

test("what belongs to other features is empty, not missing", async () => {
  for (const name of ["subnets", "leases", "reservations", "pools", "tenants", "endpoints", "catalog_items"]) {
    const list = await api.ask("GET", `/${name}`);
    expect([list.code, list.text, list.headers["x-drp-list-filter-count"]]).toEqual([200, "[]", "0"]);
    expect((await api.ask("GET", `/${name}/one`)).code).toBe(404);
    expect((await post(`/${name}`, {})).code).toBe(501);
  }
  expect(listAt((await api.ask("GET", "/objects")).json)).toContain("machines");
  expect((await api.ask("GET", "/indexes/machines/Uuid")).json).toMatchObject({ Unique: true });
  expect((await api.ask("GET", "/indexes/machines/None")).json).toEqual({});
  expect(listAt((await api.ask("GET", "/interfaces")).json).length).toBeGreaterThan(0);
  expect(listAt((await api.ask("GET", "/plugin_providers")).json)).toHaveLength(2);
});

test("preferences are written together; unknown ones are 400", async () => {
  expect((await post("/prefs", { defaultStage: "local" })).json).toMatchObject({ defaultStage: "local" });
  expect((await post("/prefs", { defaultStage: "none" })).code).toBe(201);
  expect((await post("/prefs", { what: "x" })).json).toMatchObject({
    Code: 400,
    Messages: ["Unknown Preference what"],
  });
  expect((await post("/prefs", { logLevel: 1 })).code).toBe(400);
});

test("jobs: actions of an agent's task are rendered, those of entries and missing jobs refused", async () => {
  const { uuid, auth } = await api.machine({ Name: "actions.example", Workflow: "ww" });
  const job = textAt((await api.ask("POST", "/jobs", { body: { Machine: uuid }, auth })).json, "Uuid");
  expect((await api.ask("GET", `/jobs/${job}/actions?os=linux`, { auth })).json).toEqual([
    { Name: "run", Path: "", Content: "#!/bin/sh\n", Meta: {} },
  ]);
  expect((await api.ask("GET", "/jobs/none/actions")).code).toBe(404);
  expect((await api.ask("GET", `/jobs/${job}/plugin_actions`)).json).toEqual([]);
  expect((await api.ask("DELETE", `/jobs/${job}`)).code).toBe(422);
  expect((await api.ask("DELETE", "/jobs")).json).toEqual([]);
});

test("contents: unknown bundles are 404 with the original's words", async () => {
  expect((await api.ask("GET", "/contents/none")).json).toMatchObject({
    Code: 404,
    Messages: ["No such content store"],
  });
  expect((await api.ask("GET", "/contents")).code).toBe(200);
});

const publicKeyAt = async (path: string): Promise<Buffer> =>
  Buffer.from((await api.ask("GET", path)).text.slice(1, -1), "base64");

test("a secure param is stored sealed, opened with decode and getSecure, and refused unsealed", async () => {
  await post("/params", { Name: "secure/word", Secure: true, Schema: { type: "string" } });
  const { uuid, auth } = await api.machine({ Name: "secure.example" });
  const path = `/machines/${uuid}/params/secure/word`;
  expect((await post(path, "plain")).code).toBe(409);
  const publicKey = await publicKeyAt(`/machines/${uuid}/pubkey`);
  const sealed = { ...seal(publicKey, "secret", randomBytes) };
  expect((await post(path, sealed)).json).toEqual(sealed);
  expect((await api.ask("GET", path)).json).toEqual(sealed);
  expect((await api.ask("GET", `${path}?decode=true`, { auth })).json).toBe("secret");
  expect((await api.ask("GET", `/machines/${uuid}?decode=true`)).json).toMatchObject({
    Params: { "secure/word": "secret" },
  });
  const profileKey = await publicKeyAt("/profiles/global/pubkey");
  await post("/profiles/global/params/secure/word", { ...seal(profileKey, "global", randomBytes) });
  await api.ask("DELETE", path);
  expect((await api.ask("GET", `${path}?aggregate=true&decode=true`, { auth })).json).toBe("global");
  expect((await api.ask("GET", "/profiles/global/params?decode=true", { auth })).code).toBe(404);
});

test("a client that knows an object's version gets 304, at once or when the time it waits is over", async () => {
  const uuid = await machineOf({ Name: "version.example" });
  const path = `/machines/${uuid}`;
  const tag = (await api.ask("HEAD", path)).headers.etag ?? "";
  const knowing = (prefer?: string) =>
    api.ask("GET", path, { headers: { "if-none-match": tag, ...(prefer === undefined ? {} : { prefer }) } });
  expect((await knowing()).code).toBe(304);
  expect((await knowing("wait=20ms")).code).toBe(304);
  const waiting = knowing("wait=10m");
  await api.ask("PATCH", path, { body: [{ op: "replace", path: "/Description", value: "changed" }] });
  const changed = await waiting;
  expect([changed.code, textAt(changed.json, "Description")]).toEqual([200, "changed"]);
  expect(changed.headers.etag).not.toBe(tag);
});

test("14.17-14.19 tasks must be sound; what refers to nothing is stored, and no machine gets it", async () => {
  const template = { Name: "x", Contents: "y" };
  const tasks: readonly JsonObject[] = [
    { Name: "both", Templates: [{ ...template, ID: "t" }] },
    { Name: "neither", Templates: [{ Name: "x" }] },
    {
      Name: "mixed",
      Templates: [
        { ...template, Meta: { OS: "linux" } },
        { ...template, Name: "z" },
      ],
    },
  ];
  for (const body of tasks)
    expect((await post("/tasks", body)).json).toMatchObject({ Code: 422, Type: "ValidationError" });
  const stage = await post("/stages", { Name: "dangling", Tasks: ["nope"], BootEnv: "none-such" });
  expect(stage.json).toMatchObject({ Available: false, Validated: true });
  expect(textsAt(stage.json, "Errors")).toHaveLength(2);
  expect((await post("/workflows", { Name: "dangles", Stages: ["none-such"] })).json).toMatchObject({
    Available: false,
  });
  const uuid = await machineOf({ Name: "dangles.example" });
  const body = [{ op: "replace", path: "/Workflow", value: "dangles" }];
  expect((await api.ask("PATCH", `/machines/${uuid}`, { body })).json).toMatchObject({
    Code: 422,
    Messages: [`Machine ${uuid} wants Workflow dangles, which is not available`],
  });
});

test("14.20, 14.21 a stage changes with pending tasks by force only; executed tasks and the index do not", async () => {
  const uuid = await machineOf({ Name: "pending.example", Tasks: ["ta", "tb"] });
  const patch = (path: string, value: JsonValue, query = "") =>
    api.ask("PATCH", `/machines/${uuid}${query}`, { body: [{ op: "replace", path, value }] });
  expect((await post("/jobs", { Machine: uuid })).code).toBe(201);
  expect((await patch("/CurrentTask", 1)).code).toBe(422);
  expect((await patch("/Tasks", ["tb"])).code).toBe(422);
  expect(messages(await patch("/Stage", "s2"))).toEqual(["Can not change stages with pending tasks unless forced"]);
  expect((await patch("/Stage", "s2", "?force=true")).json).toMatchObject({ Stage: "s2", Tasks: ["tc"] });
});
