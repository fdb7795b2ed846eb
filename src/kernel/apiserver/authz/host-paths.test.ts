import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeClock, type JsonObject, silentLog } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { Deployment, type KubeObject, Pod } from "#kernel/model/index.ts";
import { type ApiServer, createApiServer } from "../api-server.ts";
import { Role, RoleBinding } from "../kinds/rbac.ts";
import { memoryStore } from "../store/open.ts";
import { hostPathsIn } from "./host-paths.ts";

let server: ApiServer;
let admin: ApiClient;
beforeEach(async () => {
  const clock = new FakeClock();
  server = await createApiServer({
    store: memoryStore({ clock, log: silentLog }),
    clock,
    log: silentLog,
    version: "0",
  });
  admin = server.client();
});
afterEach(() => server.close());

const by = (user: string, ...groups: readonly string[]) =>
  server.client({ user, uid: user, groups: ["system:authenticated", ...groups], extra: {} });
const specOf = (...paths: readonly string[]) => ({
  containers: [{ name: "c", image: "x" }],
  volumes: paths.map((path, index) => ({ name: `v${index}`, hostPath: { path } })),
});
const podOf = (name: string, ...paths: readonly string[]): KubeObject & JsonObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "default" },
  spec: specOf(...paths),
});
const template = (...paths: readonly string[]): KubeObject & JsonObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "d", namespace: "default" },
  spec: {
    selector: { matchLabels: { app: "d" } },
    template: { metadata: { labels: { app: "d" } }, spec: specOf(...paths) },
  },
});

test("paths are found wherever volumes stand, and nothing else is taken for one", () => {
  const found = hostPathsIn({
    spec: { jobTemplate: { spec: { template: { spec: specOf("/a", "/b") } } } },
    steps: [{ job: { volumes: [{ name: "v", hostPath: { path: "/c" } }, { name: "w", emptyDir: {} }, null] } }],
    hostPath: { path: "/no" },
    volumes: "/no",
  });
  expect([...found].sort()).toEqual(["/a", "/b", "/c"]);
});

test("masters use every path, operators none, and who has a path has that one", async () => {
  await admin.create(Pod, podOf("master", "/"));
  const operator = by("olga", "slipway:operators");
  await operator.create(Pod, podOf("plain"));
  await expect(operator.create(Pod, podOf("climbing", "/"))).rejects.toMatchObject({
    code: 403,
    message: expect.stringContaining('cannot use resource "hostpaths" in API group "slipway.dev"'),
  });
  await expect(operator.create(Deployment, template("/"))).rejects.toMatchObject({ code: 403 });
  const rules = [{ apiGroups: ["slipway.dev"], resources: ["hostpaths"], verbs: ["use"], resourceNames: ["/srv"] }];
  const metadata = { name: "paths", namespace: "default" };
  await admin.create(Role, { apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", metadata, rules } as KubeObject);
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "paths" };
  const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "olga" }];
  const binding = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "RoleBinding", metadata, roleRef, subjects };
  await admin.create(RoleBinding, binding);
  await operator.create(Deployment, template("/srv"));
  await expect(operator.create(Pod, podOf("both", "/srv", "/etc"))).rejects.toMatchObject({ code: 403 });
});

test("a path that somebody else has put there may stay, another may not be added", async () => {
  await admin.create(Deployment, template("/var"));
  const ref = { type: Deployment, namespace: "default", name: "d" };
  const operator = by("olga", "slipway:operators");
  await operator.patch(ref, { type: "merge", body: { spec: { replicas: 0 } } });
  const volumes = specOf("/var", "/etc").volumes;
  const patch = { type: "merge", body: { spec: { template: { spec: { volumes } } } } } as const;
  await expect(operator.patch(ref, patch)).rejects.toMatchObject({ code: 403 });
});
