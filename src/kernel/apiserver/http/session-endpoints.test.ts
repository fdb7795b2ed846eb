import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { createStaticToken } from "../index.ts";
import { type Ask, startTestServer, type TestServer } from "../testing/index.ts";

let api: TestServer;
// Attempts are counted by the second.
const clock = new FakeClock(Date.now());
beforeAll(async () => {
  api = await startTestServer({ clock });
});
beforeEach(() => clock.advance(1000));
afterAll(() => api.close());

const header = { "X-Slipway-Request": "1" };
const json = { ...header, "Content-Type": "application/json" };
const codeOf = async (ask: Ask = {}) => String((await api.ask("POST", "/slipway/codes", ask)).json["code"]);
const login = (code: string, headers: Readonly<Record<string, string>> = json) =>
  api.ask("POST", "/slipway/session", { bytes: JSON.stringify({ code }), headers, token: false });
/** Cookie and key of a new session, as a page sends them. */
const opened = async (): Promise<{ readonly Cookie: string; readonly "X-Slipway-Request": string }> => {
  const { headers, json: answer } = await login(await codeOf());
  return { Cookie: headers["set-cookie"]?.[0]?.split(";")[0] ?? "", "X-Slipway-Request": String(answer["key"]) };
};
const session = (method: string, headers: Readonly<Record<string, string>>) =>
  api.ask(method, "/slipway/session", { headers, token: false });

describe("logging in", () => {
  test("takes a code, once, and gives a cookie that no page can read or send from elsewhere", async () => {
    const made = await api.ask("POST", "/slipway/codes");
    expect([made.status, Object.keys(made.json)]).toEqual([201, ["code", "until"]]);
    const code = String(made.json["code"]);
    const answer = await login(code);
    expect([answer.status, answer.json]).toEqual([
      201,
      {
        user: "slipway:admin",
        groups: ["system:masters", "system:authenticated"],
        until: expect.any(String),
        key: expect.stringMatching(/^[\w-]{43}$/),
      },
    ]);
    expect(answer.headers["set-cookie"]).toEqual([
      expect.stringMatching(/^__Host-slipway-session=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict$/),
    ]);
    expect(answer.text).not.toContain(code);
    expect(await login(code)).toMatchObject({ status: 401, json: { reason: "Unauthorized" } });
  });

  test("with a wrong code is refused, and guessing is slowed down", async () => {
    const attempts = Array.from({ length: 11 }, (_, attempt) => attempt);
    for (const attempt of attempts) expect((await login(`guess-${attempt}`)).status).toBe(attempt < 10 ? 401 : 429);
    await clock.advance(1000);
    expect((await login("guess")).status).toBe(401);
  });

  test.each<[string, string | undefined, Record<string, string>, number]>([
    ["without the header", undefined, { "Content-Type": "application/json" }, 403],
    ["as a form", "code=x", { ...header, "Content-Type": "application/x-www-form-urlencoded" }, 415],
    ["as plain text", "{}", { ...header, "Content-Type": "text/plain" }, 415],
    ["with another origin", "{}", { ...json, Origin: "https://evil.example" }, 403],
    ["without a code", "{}", json, 400],
    ["with a code that is no text", '{"code":1}', json, 400],
    ["with what is no JSON", "{", json, 400],
    ["with too much", " ".repeat(2000), json, 413],
  ])("%s is refused", async (_what, bytes = "{}", headers, status) => {
    expect((await api.ask("POST", "/slipway/session", { bytes, headers, token: false })).status).toBe(status);
  });
});

describe("a browser that is logged in", () => {
  test("keeps its session with a link of the same user", async () => {
    const present = await opened();
    const code = await codeOf();
    const answer = await login(code, { ...json, ...present });
    expect([answer.status, answer.json["user"], answer.json["key"]]).toEqual([200, "slipway:admin", undefined]);
    expect(answer.headers["set-cookie"]).toBeUndefined();
    expect((await session("GET", present)).status).toBe(200);
    expect((await login(code)).status).toBe(401);
  });

  test("is another user's only when its person says so", async () => {
    const present = await opened();
    const code = await codeOf({ token: await createStaticToken(api.store, "mallory", []) });
    const asked = await login(code, { ...json, ...present });
    expect(asked).toMatchObject({
      status: 409,
      json: { message: 'this link logs in as "mallory", and you are logged in as "slipway:admin"' },
    });
    expect((await session("GET", present)).json["user"]).toBe("slipway:admin");
    const bytes = JSON.stringify({ code, replace: true });
    const replaced = await api.ask("POST", "/slipway/session", {
      bytes,
      headers: { ...json, ...present },
      token: false,
    });
    expect([replaced.status, replaced.json["user"]]).toEqual([201, "mallory"]);
  });
});

describe("a code is for", () => {
  test("whoever has credentials of his own", async () => {
    expect((await api.ask("POST", "/slipway/codes", { token: false })).status).toBe(401);
    expect((await api.ask("POST", "/slipway/codes", { token: "wrong" })).status).toBe(401);
    const asOther = await api.ask("POST", "/slipway/codes", { headers: { "Impersonate-User": "ann" } });
    expect(asOther).toMatchObject({ status: 403, json: { message: expect.stringContaining("cannot have a session") } });
  });

  test("no account", async () => {
    const made = await api.ask("POST", "/api/v1/namespaces/default/serviceaccounts/default/token", {
      body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} },
    });
    const token = String(made.json["status"]?.["token"]);
    expect((await api.ask("POST", "/slipway/codes", { token })).status).toBe(403);
  });

  test("nobody who has a session alone", async () => {
    const headers = await opened();
    expect((await api.ask("POST", "/slipway/codes", { headers, token: false })).status).toBe(401);
  });
});

describe("a session", () => {
  test("says who is logged in, with cookie and key only", async () => {
    const { Cookie, ...key } = await opened();
    const { status, json: who } = await session("GET", { ...key, Cookie });
    expect([status, who]).toEqual([200, expect.objectContaining({ user: "slipway:admin" })]);
    expect(who["key"]).toBe(undefined);
    expect((await session("GET", { Cookie })).status).toBe(403);
    expect((await session("GET", key)).status).toBe(401);
    expect((await session("GET", { ...key, Cookie: "__Host-slipway-session=guess" })).status).toBe(401);
    // The browser sends the cookie to other ports of this host too, but never the key.
    expect((await session("GET", { ...header, Cookie })).status).toBe(401);
    expect((await session("DELETE", { ...header, Cookie })).json).toEqual({ ended: false });
    const among = { ...key, Cookie: `a=b; ${Cookie}; c=d` };
    expect((await session("GET", among)).status).toBe(200);
  });

  test("lets nobody into the API", async () => {
    const headers = await opened();
    for (const path of ["/api/v1/pods", "/api", "/metrics", "/"]) {
      expect((await api.ask("GET", path, { headers, token: false })).status).toBe(401);
    }
  });

  test("ends by logging out, and its cookie goes", async () => {
    const headers = await opened();
    const answer = await session("DELETE", headers);
    expect([answer.status, answer.json]).toEqual([200, { ended: true }]);
    expect(answer.headers["set-cookie"]?.[0]).toMatch(/^__Host-slipway-session=; Max-Age=0; .*HttpOnly/);
    expect((await session("GET", headers)).status).toBe(401);
    expect((await session("DELETE", headers)).json).toEqual({ ended: false });
  });

  test("is reached by these methods only", async () => {
    const answer = await session("PUT", header);
    expect([answer.status, answer.headers["allow"]]).toEqual([405, "GET, POST, DELETE"]);
    expect((await api.ask("GET", "/slipway/codes")).status).toBe(405);
    expect((await api.ask("GET", "/slipway/none")).status).toBe(404);
  });
});
