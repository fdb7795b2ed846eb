import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "#lib/base/index.ts";
import { ArtifactStore } from "#kernel/artifacts/index.ts";
import { startTestServer, type TestServer } from "#kernel/apiserver/testing/index.ts";
import { loadDialects } from "#dialects/index.ts";
import { sharedOf } from "#kernel/dialect/index.ts";
import { definitionsOf } from "#app/server/control-plane.ts";
import { types, workflow, workflows } from "./control-plane.ts";

// Who may read which artifact, through the API: bytes are given for an object that mentions them, to who may read them of it.

let directory: string;
let store: ArtifactStore;
let api: TestServer;
const rbac = "/apis/rbac.authorization.k8s.io/v1";
const as = (user: string, ...groups: readonly string[]) => ({
  "Impersonate-User": user,
  ...(groups.length === 0 ? {} : { "Impersonate-Group": groups[0] ?? "" }),
});

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-artifacts-"));
  store = new ArtifactStore({ directory, clock: systemClock });
  const dialects = await loadDialects();
  api = await startTestServer({
    admissions: [sharedOf(dialects), ...dialects].flatMap(({ admission }) => admission),
    definitions: definitionsOf([sharedOf(dialects), ...dialects]),
    artifacts: {
      kinds: dialects.flatMap(({ runs }) => runs.kinds),
      read: (namespace, digest) => store.read(namespace, digest),
    },
  });
  await role("reader", ["workflows"]);
  await role("taker", ["workflows", "workflows/artifacts"]);
});
afterAll(async () => {
  await api.close();
  await rm(directory, { recursive: true, force: true });
});

/** A user of this name who may get these. */
async function role(name: string, resources: readonly string[]): Promise<void> {
  const typed = (kind: string) => ({ apiVersion: "rbac.authorization.k8s.io/v1", kind, metadata: { name } });
  const rules = [{ verbs: ["get"], apiGroups: ["slipway.dev"], resources }];
  await api.ask("POST", `${rbac}/clusterroles`, { body: { ...typed("ClusterRole"), rules } });
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name };
  const body = { ...typed("RoleBinding"), roleRef, subjects: [{ kind: "User", name }] };
  await api.ask("POST", `${rbac}/namespaces/default/rolebindings`, { body });
}

async function* bytes(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}

/** A Workflow whose step has left something of this digest. */
async function leaving(name: string, digest: string): Promise<string> {
  const container = { image: "i", command: ["true"] };
  const spec = { steps: { build: { container, outputArtifacts: [{ name: "out" }] } } };
  await api.ask("POST", workflows, { body: workflow(name, spec) });
  const status = { statuses: { build: { phase: "Succeeded", artifacts: { out: { digest, size: 1 } } } } };
  const path = `${workflows}/${name}`;
  await api.ask("PATCH", `${path}/status`, { body: { status }, headers: types.merge });
  return `${path}/artifacts?digest=${digest}`;
}

test("an artifact is given to who may read it of an object that mentions it", async () => {
  const { digest } = await store.put("default", bytes("hello"));
  const path = await leaving("wf", digest);
  const got = await api.ask("GET", path);
  expect(got).toMatchObject({ status: 200, text: "hello" });
  expect(got.headers["content-type"]).toBe("application/octet-stream");
  expect(await api.ask("GET", path, { headers: as("taker") })).toMatchObject({ status: 200, text: "hello" });
  expect(await api.ask("GET", path, { headers: as("someone", "slipway:viewers") })).toMatchObject({ status: 200 });
  for (const name of ["reader", "nobody"])
    expect(await api.ask("GET", path, { headers: as(name) })).toMatchObject({ status: 403 });
});

test("a digest is no right: what the object does not mention, and what another namespace has stored, is not there", async () => {
  const { digest } = await store.put("default", bytes("somebody's"));
  const none = await leaving("other", `sha256:${"0".repeat(64)}`);
  expect(await api.ask("GET", none)).toMatchObject({ status: 404 });
  expect(await api.ask("GET", none.replace(/sha256:\w+/, digest))).toMatchObject({ status: 404 });
  const away = await store.put("elsewhere", bytes("elsewhere"));
  expect(await api.ask("GET", await leaving("claims", away.digest))).toMatchObject({ status: 404 });
  // Nor does it help to write a status along with a new object.
  const status = { statuses: { build: { artifacts: { out: { digest, size: 1 } } } } };
  const spec = { steps: { build: { container: { image: "i", command: ["true"] } } } };
  await api.ask("POST", workflows, { body: workflow("forged", spec, { status }) });
  expect(await api.ask("GET", `${workflows}/forged/artifacts?digest=${digest}`)).toMatchObject({ status: 404 });
});

test("other wishes are refused with what was expected", async () => {
  const { digest } = await store.put("default", bytes("hello"));
  const path = await leaving("asked", digest);
  const bad = await api.ask("GET", path.replace(digest, "../../store"));
  expect(bad).toMatchObject({ status: 400 });
  expect(bad.text).toContain("digest must be sha256:");
  expect(await api.ask("PUT", path, { body: {} })).toMatchObject({ status: 405 });
  const actions = path.replace("/workflows/", "/runactions/");
  expect(await api.ask("GET", actions)).toMatchObject({ status: 404 });
});

test("bytes that are damaged are cut off, and never look whole", async () => {
  const { digest } = await store.put("default", bytes("whole"));
  const path = await leaving("damaged", digest);
  await writeFile(join(directory, "default", digest.slice("sha256:".length)), "torn!");
  await expect(api.ask("GET", path)).rejects.toThrow();
});
