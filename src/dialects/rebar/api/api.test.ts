import { afterAll, beforeAll, expect, test } from "vitest";
import { listAt, objectAt, textAt } from "#lib/base/index.ts";
import { ApiFixture, basic } from "./testing/api-fixture.ts";

let api: ApiFixture;
beforeAll(async () => {
  api = await ApiFixture.open();
});
afterAll(() => api.close());

test("15.1 info and prefs answer over the self-signed certificate with the first user's password", async () => {
  const info = await api.ask("GET", "/info");
  expect(info.code).toBe(200);
  expect(info.headers["content-type"]).toBe("application/json");
  expect(info.json).toMatchObject({ version: "v4.8.0", api_port: api.api.https.port, ha_status: "Up" });
  // Bundles ask for these, each as a whole.
  const wanted = ["fsm-runner", "stage-paramer", "virtual-media-boot", "content-prerequisite-version-checking"];
  expect(info.json).toMatchObject({ features: expect.arrayContaining(wanted) });
  expect(listAt(info.json, "features")).toHaveLength(30);
  expect((await api.ask("GET", "/prefs")).json).toMatchObject({
    defaultStage: "none",
    defaultBootEnv: "local",
    unknownBootEnv: "ignore",
    knownTokenTimeout: "3600",
  });
});

test("without credentials there is 401 and nothing else, wrong ones are 403", async () => {
  for (const path of ["/info", "/machines", "/nothing", "/users/rocketskates/token"]) {
    const reply = await api.ask("GET", path, { auth: "" });
    expect([reply.code, reply.text]).toEqual([401, ""]);
    expect(reply.headers["www-authenticate"]).toBe("dr-provision");
  }
  expect((await api.ask("GET", "/info", { auth: "Digest x" })).code).toBe(401);
  const wrong = await api.ask("GET", "/info", { auth: basic("rocketskates", "wrong") });
  expect(wrong.json).toMatchObject({ Model: "users", Messages: ["Access Denied"], Code: 403 });
  expect((await api.ask("GET", "/info", { auth: "Bearer x.y" })).code).toBe(403);
});

test("a machine is created, read, changed, replaced and deleted", async () => {
  const created = await api.ask("POST", "/machines", { body: { name: "m1.example", Unknown: 1 } });
  expect(created.code).toBe(201);
  const uuid = textAt(created.json, "Uuid") ?? "";
  expect((await api.ask("GET", `/machines/Name:m1.example`)).json).toEqual(created.json);
  const patched = await api.ask("PATCH", `/machines/${uuid}`, {
    body: [
      { op: "test", path: "/Description", value: "" },
      { op: "replace", path: "/Description", value: "one", from: "" },
    ],
  });
  expect([patched.code, textAt(patched.json, "Description")]).toEqual([200, "one"]);
  const put = await api.ask("PUT", `/machines/${uuid}`, {
    body: { ...objectAt(patched.json), Description: "two" },
  });
  expect([put.code, textAt(put.json, "Description")]).toEqual([200, "two"]);
  expect((await api.ask("PUT", `/machines/${uuid}`, { body: { Uuid: "other", Name: "x1" } })).json).toMatchObject({
    Code: 400,
    Messages: [`Key change from ${uuid} to other not allowed`],
  });
  expect((await api.ask("HEAD", `/machines/${uuid}`)).code).toBe(200);
  const removed = await api.ask("DELETE", `/machines/${uuid}`);
  expect([removed.code, textAt(removed.json, "Uuid")]).toEqual([200, uuid]);
  expect((await api.ask("GET", `/machines/${uuid}`)).json).toMatchObject({
    Model: "machines",
    Key: uuid,
    Type: "GET",
    Messages: ["Not Found"],
    Code: 404,
  });
});

test("the original client's proxy on a Unix socket is served, names that resolve here from elsewhere are not", async () => {
  expect((await api.ask("GET", "/info", { headers: { host: "unix" } })).code).toBe(200);
  expect((await api.ask("GET", "/info", { headers: { host: "evil.example" } })).code).toBe(421);
});
