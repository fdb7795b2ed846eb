import { afterAll, beforeAll, expect, test } from "vitest";
import { isJsonObject, type JsonValue, textAt } from "#lib/base/index.ts";
import { addWorkflow } from "../store/testing/store-fixture.ts";
import { ApiFixture, basic } from "./testing/api-fixture.ts";

let api: ApiFixture;
beforeAll(async () => {
  api = await ApiFixture.open();
  await addWorkflow(api.store);
});
afterAll(() => api.close());

/** A user whose only role has these claims, written `scope action specific`. */
async function userWith(name: string, ...claims: readonly string[]): Promise<string> {
  const Claims = claims.map((text) => {
    const [scope = "", action = "", specific = "*"] = text.split(" ");
    return { scope, action, specific };
  });
  await api.ask("POST", "/roles", { body: { Name: `${name}-role`, Claims } });
  await api.ask("POST", "/users", { body: { Name: name, Roles: [`${name}-role`] } });
  await api.ask("PUT", `/users/${name}/password`, { body: { Password: "pw" } });
  return basic(name, "pw");
}

const replace = (path: string, value: JsonValue): JsonValue => [{ op: "replace", path, value }];
const everything = [{ scope: "*", action: "*", specific: "*" }];
const refused = { Code: 403, Type: "AUTH", Messages: [expect.stringMatching("Cannot give"), "Requires: * * *"] };

test("nobody makes themselves a superuser with the claims to write users, roles, tasks or content", async () => {
  const auth = await userWith("eve", "users,roles,tasks,contents *");
  const own = { Name: "eves", Claims: [{ scope: "users", action: "get,update", specific: "x,y" }] };
  const section = (type: string, object: JsonValue): JsonValue => ({
    meta: { Name: "eves-bundle" },
    sections: { [type]: { "eves-object": object } },
  });
  for (const [method, path, body] of [
    ["PATCH", "/users/eve", replace("/Roles", ["superuser"])],
    ["PUT", "/users/eve", { Name: "eve", roles: ["superuser"] }],
    ["POST", "/users", { Name: "mallory", Roles: ["superuser"] }],
    ["PATCH", "/roles/eve-role", replace("/Claims", everything)],
    ["POST", "/roles", { Name: "all", Claims: everything }],
    ["POST", "/tasks", { Name: "elevated", ExtraRoles: ["superuser"] }],
    ["POST", "/tasks", { Name: "elevated", ExtraClaims: everything }],
    ["POST", "/contents", section("roles", { Name: "eves-object", Claims: everything })],
    ["POST", "/contents", section("users", { Name: "eves-object", Roles: ["superuser"] })],
    ["PUT", "/users/rocketskates/password", { Password: "mine" }],
    ["GET", "/users/rocketskates/token", undefined],
  ] as const)
    expect([path, (await api.ask(method, path, { ...(body && { body }), auth })).json]).toMatchObject([path, refused]);
  // What she has she may give, and what others have she may leave as it is.
  expect((await api.ask("POST", "/roles", { body: own, auth })).code).toBe(201);
  const described = replace("/Description", "the first");
  expect((await api.ask("PATCH", "/users/rocketskates", { body: described, auth })).code).toBe(200);
});

test("a whole object needs the right to every member that it changes by leaving it out", async () => {
  const auth = await userWith("writer", "machines get,update:/Description *");
  const { uuid } = await api.machine({ Name: "whole.example", Params: { aa: 1 } });
  const body = { Name: "whole.example", Uuid: uuid, Description: "d" };
  const answer = await api.ask("PUT", `/machines/${uuid}`, { body, auth });
  expect(answer.json).toMatchObject({ Code: 403, Type: "AUTH" });
  expect((await api.ask("GET", `/machines/${uuid}/params`)).json).toEqual({ aa: 1 });
});

test("a refusal does not tell the key of an object that the caller may not see", async () => {
  const { auth } = await api.machine({ Name: "asks.example" });
  const { uuid } = await api.machine({ Name: "hidden.example" });
  for (const [method, path] of [
    ["GET", "/machines/Name:hidden.example"],
    ["DELETE", "/machines/Name:hidden.example"],
    ["GET", "/meta/machines/Name:hidden.example"],
  ] as const)
    expect((await api.ask(method, path, { auth })).text).not.toContain(uuid);
});

test("another baseTokenSecret revokes tokens at once; later ones are good", async () => {
  const tokenOf = async () => `Bearer ${textAt((await api.ask("GET", "/users/rocketskates/token")).json, "Token")}`;
  const before = await tokenOf();
  await api.ask("POST", "/prefs", { body: { baseTokenSecret: "s".repeat(32) } });
  const code = async (auth: string) => (await api.ask("GET", "/info", { auth })).code;
  expect([await code(before), await code(await tokenOf())]).toEqual([403, 200]);
});

test("JSON of many levels is refused, brackets in texts do not count", async () => {
  const { uuid, auth } = await api.machine({ Name: "deep.example" });
  const set = (text: string) =>
    api.ask("POST", `/machines/${uuid}/params/deep`, {
      bytes: Buffer.from(text),
      headers: { "content-type": "application/json" },
      auth,
    });
  const nested = (levels: number) => `${'{"a":['.repeat(levels / 2)}1${"]}".repeat(levels / 2)}`;
  expect((await set(nested(500))).code).toBe(200);
  expect((await set(JSON.stringify(`\\"${"[".repeat(2000)}`))).code).toBe(200);
  const { json } = await set(nested(502));
  expect(isJsonObject(json) && json["Messages"]).toEqual(["expected JSON of at most 500 levels"]);
  const event = { Type: "x", Action: "y", Object: "z".repeat(2 ** 20) };
  expect((await api.ask("POST", "/events", { body: event, auth })).code).toBe(413);
});

test("a machine keeps at most 32 streams and waits open, so that others find room", async () => {
  const { uuid, auth } = await api.machine({ Name: "greedy.example" });
  const other = await api.machine({ Name: "other.example" });
  const streams = await Promise.all(Array.from({ length: 32 }, () => api.events({ authorization: auth })));
  await expect(api.events({ authorization: auth })).rejects.toThrow("429");
  const tag = (await api.ask("GET", `/machines/${uuid}`, { auth })).headers.etag ?? "";
  const headers = { "if-none-match": tag, prefer: "wait=600" };
  expect((await api.ask("GET", `/machines/${uuid}`, { auth, headers })).code).toBe(429);
  const [first, ...rest] = [await api.events({ authorization: other.auth }), ...streams];
  for (const stream of rest) stream.close();
  await Promise.all(rest.map(({ closed }) => closed));
  // The server's end may come a moment later.
  await expect.poll(() => api.events({ authorization: auth }).then((again) => again.close(), String)).toBeUndefined();
  first.close();
});
