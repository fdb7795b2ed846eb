import { mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import { loadDialects } from "#dialects/index.ts";
import { type Ask, startTestServer, type TestServer } from "#kernel/apiserver/testing/index.ts";
import type { ApiServer } from "#kernel/apiserver/index.ts";
import { sharedOf } from "#kernel/dialect/index.ts";
import { definitionsOf } from "./control-plane.ts";
import { lazyPages } from "./pages.ts";

// The web UI as an attacker sees it: who gets what below /slipway/.

let directory: string;
let api: TestServer;
let views = 0;
const clock = new FakeClock(Date.now());
const header = { "X-Slipway-Request": "1" };
const json = { ...header, "Content-Type": "application/json" };

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-ui-"));
  await mkdir(join(directory, "assets"));
  const files = { "assets/a-1.js": { type: "text/javascript" } };
  await writeFile(join(directory, "manifest.json"), JSON.stringify({ files }));
  await writeFile(join(directory, "index.html"), "<!doctype html>page");
  await writeFile(join(directory, "assets/a-1.js"), "plain");
  await writeFile(join(directory, "assets/a-1.js.br"), "packed");
  await writeFile(join(directory, "private"), "private");
  const dialects = (await loadDialects()).map((dialect) => ({
    ...dialect,
    runs: {
      ...dialect.runs,
      view: (...asked: Parameters<typeof dialect.runs.view>) => ((views += 1), dialect.runs.view(...asked)),
    },
  }));
  const found: { server?: ApiServer } = {};
  const pages = lazyPages(async () => ({
    client: found.server?.client() ?? api.client,
    dialects,
    directory,
    clock,
    log: silentLog,
    random: () => 0.5,
    version: "1",
  }));
  api = await startTestServer({ clock, pages, definitions: definitionsOf([sharedOf(dialects), ...dialects]) });
  found.server = api.server;
});
beforeEach(() => clock.advance(1000));
afterAll(async () => {
  await api.close();
  await rm(directory, { recursive: true, force: true });
});

type Session = Readonly<Record<"Cookie" | "X-Slipway-Request", string>>;

/** A session of the user whose certificate gets the code; of the administrator by default. */
async function login(ask: Ask = {}): Promise<Session> {
  const { json: made } = await api.ask("POST", "/slipway/codes", ask);
  const bytes = JSON.stringify({ code: String(made["code"]) });
  const { headers, json: answer } = await api.ask("POST", "/slipway/session", { bytes, headers: json, token: false });
  return { Cookie: headers["set-cookie"]?.[0]?.split(";")[0] ?? "", "X-Slipway-Request": String(answer["key"]) };
}

const as = async (session: Partial<Session>, path: string, more: Readonly<Record<string, string>> = {}) =>
  api.ask("GET", path, { headers: { ...header, ...session, ...more }, token: false });

const workflow = (name: string, more: object = {}) => ({
  apiVersion: "slipway.dev/v1alpha1",
  kind: "Workflow",
  metadata: { name, namespace: "default" },
  spec: {
    steps: { a: { jobTemplate: { spec: { template: { spec: { containers: [{ name: "a", image: "x" }] } } } } } },
    ...more,
  },
});

const type = { group: "slipway.dev", version: "v1alpha1", kind: "Workflow", plural: "workflows", namespaced: true };

describe("files of the page", () => {
  test("need no session; hashed ones are kept for ever, the page never", async () => {
    const page = await api.ask("GET", "/slipway/runs/workflow/default/x", { token: false });
    expect([page.status, page.text, page.headers["cache-control"]]).toEqual([200, "<!doctype html>page", "no-store"]);
    const script = await api.ask("GET", "/slipway/assets/a-1.js", { token: false });
    expect([script.status, script.text]).toEqual([200, "plain"]);
    expect(script.headers["cache-control"]).toContain("immutable");
    const packed = await api.ask("GET", "/slipway/assets/a-1.js", {
      token: false,
      headers: { "Accept-Encoding": "gzip, br" },
    });
    expect([packed.text, packed.headers["content-encoding"]]).toEqual(["packed", "br"]);
  });

  test("may not be shown in a frame, run foreign code or tell where a link led", async () => {
    const { headers } = await api.ask("GET", "/slipway/", { token: false });
    expect(headers["content-security-policy"]).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    );
    expect(headers).toMatchObject({
      "x-frame-options": "DENY",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
    });
  });

  test.each([
    "/slipway/private",
    "/slipway/assets/../private",
    "/slipway/assets/%2e%2e/private",
    "/slipway/..%2fprivate",
  ])("%s leads to no other file", async (path) => {
    expect((await api.ask("GET", path, { token: false })).text).not.toBe("private");
  });

  test("are reached by a link from anywhere, and nothing else is", async () => {
    const visit = { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document" };
    const status = async (path: string, headers: Readonly<Record<string, string>>) =>
      (await api.ask("GET", path, { token: false, headers })).status;
    expect(await status("/slipway/runs", visit)).toBe(200);
    expect(await status("/slipway/runs", { ...visit, "Sec-Fetch-Dest": "iframe" })).toBe(403);
    expect(await status("/slipway/runs", { ...visit, ...header })).toBe(403);
    expect(await status("/slipway/api/api/v1/pods", visit)).toBe(403);
    expect(await status("/slipway/session", visit)).toBe(403);
    expect(await status("/api/v1/pods", visit)).toBe(403);
  });
});

describe("data", () => {
  const paths = ["/slipway/runs", "/slipway/system", "/slipway/startables"];

  test("take a session and the header", async () => {
    const session = await login();
    const { Cookie } = session;
    for (const path of paths) {
      expect((await as(session, path)).status, path).toBe(200);
      expect((await as({}, path)).status, path).toBe(401);
      expect((await as({ Cookie }, path)).status, path).toBe(401);
      expect((await as({ ...session, Cookie: "__Host-slipway-session=guess" }, path)).status, path).toBe(401);
      await clock.advance(1000);
      const plain = await api.ask("GET", path, { headers: { Cookie }, token: false });
      expect(plain.text).toBe("<!doctype html>page");
      // A token is no session.
      expect((await api.ask("GET", path, { headers: header })).status, path).toBe(401);
    }
  });

  test.each<[string, Record<string, string>, number]>([
    ["of another site", { Origin: "https://evil.example", "Sec-Fetch-Site": "cross-site" }, 403],
    ["of another program on this machine", { Origin: "https://localhost:1" }, 403],
    ["of a name that resolves to this machine", { Host: "evil.example" }, 421],
    ["of a form", { "Content-Type": "application/x-www-form-urlencoded" }, 415],
    ["of a form in plain text", { "Content-Type": "text/plain" }, 415],
  ])("a POST %s is refused", async (_what, more, status) => {
    const headers = { ...json, ...(await login()), ...more };
    const asked = { bytes: '{"text":"a: 1"}', headers, token: false } as const;
    expect((await api.ask("POST", "/slipway/lint", asked)).status).toBe(status);
  });

  test("a POST without the header is refused", async () => {
    const headers = { "Content-Type": "application/json", Cookie: (await login()).Cookie };
    const asked = { bytes: "{}", headers, token: false } as const;
    expect((await api.ask("POST", "/slipway/stream", asked)).status).toBe(405);
    expect((await api.ask("POST", "/slipway/api/api/v1/namespaces", asked)).status).toBe(403);
  });

  test("a viewer sees runs, and neither reads Secrets nor acts; a stranger sees nothing", async () => {
    await api.client.create(type, workflow("seen"));
    const viewer = await loginOf(["slipway:viewers"], "vera");
    expect((await as(viewer, "/slipway/runs?text=seen")).json).toMatchObject({ total: 1 });
    expect((await as(viewer, "/slipway/runs/workflow/default/seen")).status).toBe(200);
    expect((await as(viewer, "/slipway/api/api/v1/namespaces/default/secrets")).status).toBe(403);
    const path = "/slipway/api/apis/slipway.dev/v1alpha1/namespaces/default/runactions";
    const headers = { ...json, ...viewer };
    expect((await api.ask("POST", path, { bytes: "{}", headers, token: false })).status).toBe(403);
    const stranger = await loginOf([], "stan");
    expect((await as(stranger, "/slipway/runs")).json).toMatchObject({ total: 0, items: [], counts: {} });
    expect((await as(stranger, "/slipway/runs/workflow/default/seen")).status).toBe(403);
    expect((await as(stranger, "/slipway/logs/workflow/default/seen?step=a")).status).toBe(403);
  });

  test("a stream takes at most a hundred known subscriptions, and is changed by its own user only", async () => {
    const headers = { ...json, ...(await login()) };
    const post = (path: string, body: object) =>
      api.ask("POST", path, { bytes: JSON.stringify(body), headers, token: false });
    const one = (id: number) => ({ id: `${id}`, what: "runs", params: {} });
    const many = Array.from({ length: 101 }, (_, id) => one(id));
    for (const subscriptions of [many, [one(1), one(1)], [{ id: "1", what: "secrets" }], "all"])
      expect((await post("/slipway/stream", { subscriptions })).status).toBe(400);
    expect((await post("/slipway/stream/guess", { subscriptions: [] })).status).toBe(404);
  });

  test("a text to check is short enough not to hold up the server, and so is the answer", async () => {
    const headers = { ...json, ...(await login()) };
    const lint = (text: string) =>
      api.ask("POST", "/slipway/lint", { bytes: JSON.stringify({ text }), headers, token: false });
    expect((await lint("a: ".repeat(100_000))).status).toBe(413);
    const { status, json: answer } = await lint("---\na: 1\n".repeat(2000));
    expect(status).toBe(200);
    expect(answer["problems"]).toHaveLength(1000);
  });

  test("HTML in names and messages stays text of JSON", async () => {
    const answer = await as(await login(), "/slipway/runs/workflow/default/%3Cscript%3E");
    expect(answer.status).toBe(404);
    expect(answer.headers["content-type"]).toBe("application/json");
    expect(answer.headers["content-security-policy"]).toContain("default-src 'none'");
  });
});

test("a web UI that is never opened is never loaded", async () => {
  let loads = 0;
  const pages = lazyPages(() => {
    loads += 1;
    throw new Error("not asked for");
  });
  const own = await startTestServer({ pages });
  for (const path of ["/version", "/api/v1/pods", "/slipway/status", "/slipway/session", "/slipway/codes"])
    await own.ask("GET", path);
  expect(loads).toBe(0);
  await own.ask("GET", "/slipway/runs");
  expect(loads).toBe(1);
  await own.close();
});

test("two thousand runs are viewed once each, and a filter finds some of them", async () => {
  const many = Array.from({ length: 2000 }, (_, index) => workflow(`many-${index}`));
  await api.client.createMany?.(type, many);
  const session = await login();
  await expect.poll(async () => (await as(session, "/slipway/runs?text=many-")).json["total"]).toBe(2000);
  const before = views;
  expect(before).toBeLessThan(2100);
  const page = await as(session, "/slipway/runs?text=many-19&limit=2");
  expect(page.json).toMatchObject({ total: 111, counts: { Pending: 111 } });
  expect(page.json["items"]).toHaveLength(2);
  const next = await as(session, `/slipway/runs?text=many-19&limit=200&continue=${String(page.json["continue"])}`);
  expect(next.json["items"]).toHaveLength(109);
  expect(views).toBe(before);
});

async function loginOf(groups: readonly string[], user: string): Promise<Session> {
  const { createStaticToken } = await import("#kernel/apiserver/index.ts");
  const token = await createStaticToken(api.store, user, groups);
  return await login({ token });
}
