import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { type JsonValue, listAt, textAt } from "#lib/base/index.ts";
import { ByteLogs } from "#kernel/streams/index.ts";
import { addWorkflow } from "../store/testing/store-fixture.ts";
import { ApiFixture, basic, firstUser, type Reply } from "./testing/api-fixture.ts";

let api: ApiFixture;
beforeAll(async () => {
  api = await ApiFixture.open();
  await addWorkflow(api.store);
});
afterAll(() => api.close());

const codes = async (...replies: readonly Promise<Reply>[]): Promise<readonly number[]> =>
  (await Promise.all(replies)).map(({ code }) => code);

const replace = (path: string, value: JsonValue): JsonValue => [{ op: "replace", path, value }];

test("14.1-14.7 an agent's requests for jobs answer 400, 422, 201, 409, 204 and 202", async () => {
  const { uuid, auth } = await api.machine({ Name: "jobs.example", Workflow: "ww" });
  const post = (body: JsonValue) => api.ask("POST", "/jobs", { body, auth });
  expect((await post({})).json).toMatchObject({ Code: 400, Messages: ["Create request must have Machine field"] });
  const other = "11111111-1111-4111-8111-111111111111";
  expect((await post({ Machine: other })).json).toMatchObject({ Code: 403, Type: "AUTH" });
  expect((await api.ask("POST", "/jobs", { body: { Machine: other } })).json).toMatchObject({
    Code: 422,
    Type: "ValidationError",
    Messages: [`Machine ${other} does not exist`],
  });
  const nothing = await post({ Machine: uuid, Context: "x" });
  expect([nothing.code, nothing.text, nothing.headers["content-type"]]).toEqual([204, "", "application/json"]);
  const job = await post({ Machine: uuid });
  expect(job.code).toBe(201);
  expect(job.json).toMatchObject({ Task: "ta", State: "created", Current: true, CurrentIndex: 2, NextIndex: 3 });
  expect(job.json).not.toHaveProperty("Token");
  expect((await post({ Machine: uuid })).json).toMatchObject({
    Code: 409,
    Type: "Conflict",
    Messages: [`Machine ${uuid} already has running or created job`],
  });
  const key = textAt(job.json, "Uuid") ?? "";
  const second = await api.machine({ Name: "uuid.example", Workflow: "ww" });
  expect((await post({ Machine: uuid, Uuid: key })).code).toBe(409);
  const used = await api.ask("POST", "/jobs", { body: { Machine: second.uuid, Uuid: key } });
  expect(used.json).toMatchObject({ Code: 409, Type: "CREATE", Messages: ["already exists"] });
  expect((await api.ask("PATCH", `/jobs/${key}`, { body: replace("/State", "fred"), auth })).json).toMatchObject({
    Code: 422,
  });
  const incomplete = await api.ask("PATCH", `/jobs/${key}`, { body: replace("/State", "incomplete"), auth });
  expect(incomplete.json).toMatchObject({ State: "incomplete" });
  const again = await post({ Machine: uuid });
  expect([again.code, textAt(again.json, "Uuid")]).toEqual([202, key]);
  await api.ask("PATCH", `/jobs/${key}`, { body: replace("/State", "failed"), auth });
  expect((await post({ Machine: uuid })).json).toMatchObject({
    Code: 409,
    Messages: [`Machine ${uuid} is not runnable`],
  });
});

test("14.29 a machine's token reaches its own machine and jobs: others are 404 to read and 403 to change", async () => {
  const own = await api.machine({ Name: "own.example", Workflow: "ww" });
  const other = await api.machine({ Name: "other.example", Workflow: "ww" });
  const job = textAt((await api.ask("POST", "/jobs", { body: { Machine: other.uuid } })).json, "Uuid");
  const { auth } = own;
  const bytes = Buffer.from("x");
  const headers = { "content-type": "application/octet-stream" };
  expect(
    await codes(
      api.ask("GET", `/machines/${own.uuid}`, { auth }),
      api.ask("PATCH", `/machines/${own.uuid}`, { body: replace("/Description", "x"), auth }),
      api.ask("GET", `/machines/${other.uuid}`, { auth }),
      api.ask("GET", `/machines/${other.uuid}/params`, { auth }),
      api.ask("GET", `/jobs/${job}`, { auth }),
      api.ask("GET", `/jobs/${job}/log`, { auth }),
      api.ask("GET", `/jobs/${job}/actions`, { auth }),
      api.ask("GET", `/users/${firstUser.name}`, { auth }),
    ),
  ).toEqual([200, 200, 404, 404, 404, 404, 404, 404]);
  expect(
    await codes(
      api.ask("PATCH", `/machines/${other.uuid}`, { body: replace("/Description", "x"), auth }),
      api.ask("PATCH", `/machines/${other.uuid}`, { body: [{ op: "test", path: "/Name", value: "x" }], auth }),
      api.ask("PATCH", `/machines/${other.uuid}/params`, { body: [{ op: "test", path: "/a", value: 1 }], auth }),
      api.ask("PATCH", `/jobs/${job}`, { body: replace("/State", "failed"), auth }),
      api.ask("PUT", `/jobs/${job}/log`, { bytes, headers, auth }),
      api.ask("POST", `/machines/${other.uuid}/actions/any`, { body: {}, auth }),
      api.ask("DELETE", `/machines/${own.uuid}`, { auth }),
      api.ask("POST", "/machines", { body: { Name: "new.example" }, auth }),
      api.ask("GET", `/machines/${own.uuid}/token`, { auth }),
      api.ask("POST", "/prefs", { body: {}, auth }),
      api.ask("PUT", "/users/rocketskates/password", { body: { Password: "x" }, auth }),
    ),
  ).toEqual(Array.from({ length: 11 }, () => 403));
  const list = await api.ask("GET", "/machines", { auth });
  expect([list.code, list.text]).toEqual([200, "[]"]);
  expect((await api.ask("GET", "/stages/s1", { auth })).code).toBe(200);
});

test("15.21 changing the secret of the machine, or of the user who asked for the token, revokes it", async () => {
  const { uuid, auth } = await api.machine({ Name: "secret.example" });
  expect((await api.ask("GET", `/machines/${uuid}`, { auth })).code).toBe(200);
  await api.ask("PATCH", `/machines/${uuid}`, { body: replace("/Secret", "another-secret-16") });
  expect((await api.ask("GET", `/machines/${uuid}`, { auth })).code).toBe(403);

  await api.ask("POST", "/users", { body: { Name: "anna", Roles: ["superuser"] } });
  await api.ask("PUT", "/users/anna/password", { body: { Password: "first" } });
  const anna = basic("anna", "first");
  const token = textAt((await api.ask("GET", `/machines/${uuid}/token?ttl=3y`, { auth: anna })).json, "Token");
  expect((await api.ask("GET", `/machines/${uuid}?token=${token}`, { auth: "" })).code).toBe(200);
  await api.ask("PUT", "/users/anna/password", { body: { Password: "second" } });
  expect((await api.ask("GET", `/machines/${uuid}?token=${token}`, { auth: "" })).code).toBe(403);
  expect((await api.ask("GET", "/info", { auth: anna })).code).toBe(403);
  expect((await api.ask("GET", "/info?token=anna:second", { auth: "" })).code).toBe(200);
});

test("a session has at most the roles of the token that asks for it; 14.26 a ttl that is no number is 400", async () => {
  await api.ask("POST", "/roles", {
    body: { Name: "reader", Claims: [{ scope: "stages", action: "*", specific: "*" }] },
  });
  await api.ask("PATCH", `/users/${firstUser.name}`, { body: replace("/Roles", ["superuser", "reader"]) });
  const session = async (query: string, auth?: string) => {
    const reply = await api.ask("GET", `/users/${firstUser.name}/token?${query}`, auth === undefined ? {} : { auth });
    return `Bearer ${textAt(reply.json, "Token")}`;
  };
  const reader = await session("ttl=600&roles=reader");
  expect(
    await codes(api.ask("GET", "/stages/s1", { auth: reader }), api.ask("GET", "/tasks/ta", { auth: reader })),
  ).toEqual([200, 404]);
  const path = `/users/${firstUser.name}/password`;
  expect((await api.ask("PUT", path, { body: { Password: "x" }, auth: reader })).code).toBe(403);
  const again = await session("roles=superuser", reader);
  expect((await api.ask("GET", "/tasks/ta", { auth: again })).code).toBe(404);
  expect((await api.ask("GET", "/tasks/ta", { auth: await session("") })).code).toBe(200);
  expect((await api.ask("GET", `/users/${firstUser.name}/token?ttl=abc`)).code).toBe(400);
  const { uuid } = await api.machine({ Name: "ttl.example" });
  expect((await api.ask("GET", `/machines/${uuid}/token?ttl=abc`)).code).toBe(400);
});

test("a change needs the claim for each pointer that it changes, and lists show what may be listed", async () => {
  const { uuid } = await api.machine({ Name: "pointer.example" });
  await api.ask("POST", "/roles", {
    body: {
      Name: "describer",
      Claims: [
        { scope: "machines", action: "list,get,update:/Description,update:/Params/aa", specific: uuid },
        { scope: "machines", action: "action:nothing", specific: "*" },
      ],
    },
  });
  await api.ask("POST", "/users", { body: { Name: "bert", Roles: ["describer"] } });
  await api.ask("PUT", "/users/bert/password", { body: { Password: "p" } });
  const auth = basic("bert", "p");
  const path = `/machines/${uuid}`;
  const machine = (await api.ask("GET", path, { auth })).json as Record<string, JsonValue>;
  expect(
    await codes(
      api.ask("PATCH", path, { body: replace("/Description", "x"), auth }),
      api.ask("PATCH", path, { body: [{ op: "add", path: "/Params/aa", value: { b: 1 } }], auth }),
      api.ask("POST", `${path}/params/aa`, { body: 1, auth }),
      api.ask("PATCH", path, { body: replace("/Runnable", false), auth }),
      api.ask("PATCH", path, { body: [{ op: "move", from: "/Name", path: "/Description" }], auth }),
      api.ask("POST", `${path}/params/bb`, { body: 1, auth }),
      api.ask("PATCH", `/meta${path}`, { body: [{ op: "add", path: "/x", value: "y" }], auth }),
    ),
  ).toEqual([200, 200, 200, 403, 403, 403, 403]);
  expect((await api.ask("PUT", path, { body: { ...machine, Description: "put", Params: { aa: 2 } }, auth })).code).toBe(
    200,
  );
  const refused = await api.ask("PUT", path, { body: { ...machine, Runnable: false }, auth });
  expect(refused.json).toMatchObject({ Code: 403, Type: "AUTH", Model: "machines" });
  expect(listAt((refused.json as Record<string, JsonValue>)["Messages"])[1]).toMatch(/^Requires: machines update:\//);
  const list = await api.ask("GET", "/machines", { auth });
  expect([listAt(list.json).length, list.headers["x-drp-list-total-count"]]).toEqual([1, "1"]);
});

test("an elevated task's job has a token with more claims, until the job ends", async () => {
  await api.ask("POST", "/tasks", {
    body: { Name: "elevated", ExtraClaims: [{ scope: "profiles", action: "get", specific: "global" }] },
  });
  await api.ask("POST", "/stages", { body: { Name: "elevating", Tasks: ["elevated"] } });
  const { uuid, auth } = await api.machine({ Name: "elevated.example", Stage: "elevating" });
  const job = await api.ask("POST", "/jobs", { body: { Machine: uuid }, auth });
  expect(job.json).toMatchObject({ ExtraClaims: [{ scope: "profiles", action: "get", specific: "global" }] });
  const elevated = `Bearer ${textAt(job.json, "Token")}`;
  expect(
    await codes(
      api.ask("GET", "/profiles/global", { auth }),
      api.ask("GET", "/profiles/global", { auth: elevated }),
      api.ask("PATCH", `/jobs/${textAt(job.json, "Uuid")}`, { body: replace("/State", "finished"), auth: elevated }),
    ),
  ).toEqual([404, 200, 200]);
  expect((await api.ask("GET", "/profiles/global", { auth: elevated })).code).toBe(403);
});

test("an agent learns that the disk of the server is full when its log is not stored", async () => {
  const { uuid, auth } = await api.machine({ Name: "full.example", Workflow: "ww" });
  const { json } = await api.ask("POST", "/jobs", { body: { Machine: uuid }, auth });
  const full = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
  const append = vi.spyOn(ByteLogs.prototype, "append").mockRejectedValue(full);
  onTestFinished(() => append.mockRestore());
  const headers = { "content-type": "application/octet-stream" };
  const path = `/jobs/${textAt(json, "Uuid")}/log`;
  expect((await api.ask("PUT", path, { bytes: Buffer.from("x"), headers, auth })).json).toMatchObject({
    Code: 507,
    Messages: ["the disk of the server is full"],
  });
});
