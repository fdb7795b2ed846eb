import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { ok, systemClock } from "#lib/base/index.ts";
import type { HelmRequest } from "#kernel/template/index.ts";
import { clientWith, component, deployment, fakeApp, fakeScope } from "../ops/testing/fake-scope.ts";
import { renderHelm } from "./helm.ts";
import { buildKustomization, foreignReference } from "./kustomization.ts";
import { renderKustomize } from "./kustomize.ts";
import { mergeByName } from "./merge.ts";
import type { UseCaseParts } from "./parts.ts";

const root = mkdtempSync(join(tmpdir(), "slipway-sources-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const settings = { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1", PATH: process.env["PATH"], HOME: root };
const git = (directory: string, ...words: readonly string[]) =>
  execFileSync("git", ["-C", directory, "-c", "user.name=a", "-c", "user.email=a@b", ...words], {
    env: settings,
    encoding: "utf8",
  });
const asked: HelmRequest[] = [];
const parts = (more: Partial<UseCaseParts> = {}): UseCaseParts => ({
  templates: {
    renderChart: (request) => {
      asked.push(request);
      return Promise.resolve(ok({ objects: [{ kind: "ConfigMap" }], chart: "c-1" }));
    },
  },
  directory: join(root, "cache"),
  environment: settings,
  localRoots: [root],
  ...more,
});
const scope = () =>
  Object.assign(fakeScope(fakeApp([component("web", deployment("web", 1))], 3), { clients: { local: clientWith() } }), {
    clock: systemClock,
  });

function write(directory: string, files: Readonly<Record<string, string>>): string {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
  return directory;
}

const chart = {
  "charts/app/Chart.yaml": "name: app\nversion: 1.0.0\n",
  "charts/app/templates/a.yaml": "kind: A\n",
  "other.txt": "x",
};
const inputs = { path: "charts/app", parameters: { image: "my-image", replicas: 3 } };

function repository(files: Readonly<Record<string, string>>): string {
  const work = write(mkdtempSync(join(root, "work-")), files);
  git(work, "init", "--quiet", "--initial-branch=main");
  git(work, "add", "-A");
  git(work, "commit", "--quiet", "-m", "one");
  const bare = `${work}.git`;
  git(root, "clone", "--quiet", "--bare", work, bare);
  return bare;
}

test("17.15 14.5 a chart is read from a Git repository, a local folder and an archive", async () => {
  const bare = repository(chart);
  const archive = join(root, "chart.tgz");
  execFileSync("tar", ["-C", bare.replace(/\.git$/, ""), "-czf", archive, "charts"]);
  const server = createServer((request, response) => {
    if (request.url === "/a.tgz") response.writeHead(302, { location: "/b.tgz" }).end();
    else response.end(readFileSync(archive));
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  try {
    for (const [source, path] of [
      [`file://${bare}`, "charts/app"],
      [bare, "charts/app"],
      [bare.replace(/\.git$/, ""), "charts/app"],
      [`http://127.0.0.1:${port}/a.tgz`, "app"],
    ]) {
      const answer = await renderHelm(parts())(
        { $params: { ...inputs, source: source ?? "", path: path ?? "" } },
        scope(),
      );
      expect(answer).toMatchObject({ kind: "continue", result: { $returns: { objects: [{ kind: "ConfigMap" }] } } });
      expect(asked.pop()).toEqual({
        files: { "Chart.yaml": chart["charts/app/Chart.yaml"], "templates/a.yaml": "kind: A\n" },
        release: { name: "shop", namespace: "default", revision: 3 },
        values: inputs.parameters,
      });
    }
  } finally {
    server.close();
  }
});

test("packed sub-charts are unpacked", async () => {
  const directory = write(mkdtempSync(join(root, "packed-")), {
    "db/Chart.yaml": "name: db\n",
    "app/Chart.yaml": "name: app\n",
  });
  mkdirSync(join(directory, "app/charts"));
  execFileSync("tar", ["-C", directory, "-czf", join(directory, "app/charts/db-1.0.0.tgz"), "db"]);
  await renderHelm(parts())({ source: directory, path: "app" }, scope());
  expect(asked.pop()?.files).toEqual({ "Chart.yaml": "name: app\n", "charts/db-1.0.0/Chart.yaml": "name: db\n" });
});

test("bad input: sources that are missing, forbidden or lead outside", async () => {
  const render = (input: object, allowed: Partial<UseCaseParts> = {}) =>
    renderHelm(parts(allowed))({ ...input }, scope());
  const message = (text: string) => ({ kind: "error", message: expect.stringContaining(text) });
  const inside = write(mkdtempSync(join(root, "in-")), { "Chart.yaml": "name: a" });
  symlinkSync("/etc", join(inside, "out"));
  expect(await render({})).toEqual(message("source: expected a Git URL"));
  expect(await render({ source: "/etc" })).toEqual(message("does not exist below an allowed directory"));
  expect(await render({ source: join(inside, "out") })).toEqual(message("does not exist below an allowed directory"));
  expect(await render({ source: inside }, { localRoots: [] })).toEqual(message("local sources are not allowed"));
  expect(await render({ source: inside, path: "../.." })).toEqual(message("path: expected a folder inside the source"));
  expect(await render({ source: inside, path: "out" })).toEqual(message("the source has no folder out"));
  expect(await render({ source: "oci://example.org/a" })).toEqual(message("found the scheme oci"));
  expect(await render({ source: repository(chart), ref: "--upload-pack=x" })).toEqual(
    message("ref: expected a branch"),
  );
});

const application = `apiVersion: core.oam.dev/v1beta1
kind: Application
metadata: {name: shop}
spec:
  components:
  - {name: instance, type: webservice, properties: {image: "base:1", port: 80}}
  - {name: db, type: worker, properties: {image: "db:1"}}
`;
const kustomization = `resources: [../base]
namespace: prod
labels: [{pairs: {team: a}}]
images: [{name: db, newTag: "2"}]
patches:
- patch: |
    - {op: replace, path: /spec/components/0/properties/port, value: 8080}
  target: {kind: Application}
- path: more.yaml
configMapGenerator: [{name: settings, literals: [a=1]}]
`;
const overlay = {
  "base/kustomization.yaml": "resources: [app.yaml]\n",
  "base/app.yaml": application,
  "prod/kustomization.yaml": kustomization,
  "prod/more.yaml":
    "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {name: shop}\nspec: {components: [{name: db, traits: [{type: scaler}]}]}\n",
};
const filesOf = (files: Readonly<Record<string, string>>) =>
  new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)]));

test("17.15 14.5 a kustomization is built without kustomize", async () => {
  expect(buildKustomization(filesOf(overlay), "prod")).toEqual(
    ok([
      {
        apiVersion: "core.oam.dev/v1beta1",
        kind: "Application",
        metadata: { name: "shop", namespace: "prod", labels: { team: "a" } },
        spec: {
          components: [
            { name: "instance", type: "webservice", properties: { image: "base:1", port: 8080 } },
            { name: "db", type: "worker", properties: { image: "db:2" }, traits: [{ type: "scaler" }] },
          ],
        },
      },
      {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "settings", namespace: "prod", labels: { team: "a" } },
        data: { a: "1" },
      },
    ]),
  );
  const none = parts({ environment: { ...settings, PATH: "" } });
  const source = write(mkdtempSync(join(root, "kustomize-")), overlay);
  const answer = await renderKustomize(none)({ source, path: "prod" }, scope());
  expect(answer).toMatchObject({
    kind: "continue",
    result: { $returns: { objects: [{ kind: "Application" }, { kind: "ConfigMap" }] } },
  });
});

test("bad input: kustomizations that need kustomize, or are broken, are refused by name", () => {
  const build = (text: string) =>
    buildKustomization(filesOf({ "kustomization.yaml": text, "a.yaml": application }), "");
  const refused = (text: string) => ({ ok: false, error: expect.stringContaining(text) });
  expect(build("helmCharts: []")).toEqual(refused("kustomization.yaml: helmCharts: not supported without kustomize"));
  expect(build("resources: [none.yaml]")).toEqual(refused("none.yaml has no kustomization.yaml"));
  expect(build("resources: ['https://example.org/x']")).toEqual(refused("not supported without kustomize"));
  expect(build("resources: [.]")).toEqual(refused("more than 20 deep"));
  expect(build("resources: [a.yaml]\npatches: [{patch: '{kind: Pod, metadata: {name: x}}'}]")).toEqual(
    refused("no object matches"),
  );
});

test.each([
  ["resources: [https://example.org/a.yaml]", "https://example.org/a.yaml"],
  ["resources: [github.com/a/b/c]", "github.com/a/b/c"],
  ["resources: [../elsewhere]", "../elsewhere"],
  ["patches: [{ path: https://example.org/p.yaml }]", "https://example.org/p.yaml"],
  ["configMapGenerator: [{ name: a, files: [k=http://169.254.169.254/x] }]", "169.254.169.254"],
  ["transformers: [t.yaml]", "transformers"],
  // kustomize ignores case in the names of fields.
  ["Resources: [github.com/a/b]", "Resources"],
  ["resources: []\nHelmCharts: [{ name: a, repo: x }]", "HelmCharts"],
  ["helmChartInflationGenerator: []", "helmChartInflationGenerator"],
])("kustomize is not started for a kustomization that reads from elsewhere: %s", (text, named) => {
  const files = new Map([
    ["top/kustomization.yaml", Buffer.from("resources: [../base]")],
    ["base/kustomization.yaml", Buffer.from(text)],
  ]);
  expect(foreignReference(files, "top")).toContain(named);
});

test("attack: folders that refer to each other often are read a bounded number of times", () => {
  const wide = Array.from({ length: 19 }, (_, index) => [
    `f${index}/kustomization.yaml`,
    Buffer.from(`resources: [../f${index + 1}, ../f${index + 1}, ../f${index + 1}]`),
  ]) as readonly (readonly [string, Buffer])[];
  const files = new Map([...wide, ["f19/kustomization.yaml", Buffer.from("resources: []")] as const]);
  expect(foreignReference(files, "f0")).toBeUndefined();
  expect(buildKustomization(files, "f0")).toMatchObject({
    ok: false,
    error: expect.stringContaining("more than 1000 references to kustomizations"),
  });
});

test("attack: depth and unreadable files are no way around the check of what kustomize reads", () => {
  const deep = Array.from({ length: 30 }, (_, index) => [
    `f${index}/kustomization.yaml`,
    Buffer.from(`resources: [../f${index + 1}]`),
  ]) as readonly (readonly [string, Buffer])[];
  const last = ["f30/kustomization.yaml", Buffer.from("resources: [https://example.org/x]")] as const;
  expect(foreignReference(new Map([...deep, last]), "f0")).toContain("more than 20 folders refer to each other");
  const broken = new Map([["kustomization.yaml", Buffer.from("resources: [https://example.org/x\nkind: {")]]);
  expect(foreignReference(broken, "")).toMatch(/^kustomization\.yaml: /);
});

test("attack: kustomize is started without Git, proxies and the server's settings", async () => {
  const bin = mkdtempSync(join(root, "bin-"));
  writeFileSync(
    join(bin, "kustomize"),
    "#!/bin/sh\nset > environment\necho 'kind: A'\n".replace("environment", join(bin, "seen")),
  );
  chmodSync(join(bin, "kustomize"), 0o755);
  const environment = {
    ...settings,
    PATH: `${bin}:${settings.PATH ?? ""}`,
    HOME: root,
    AWS_SECRET_ACCESS_KEY: "hunter2",
  };
  const source = write(mkdtempSync(join(root, "confined-")), { "kustomization.yaml": "resources: []" });
  const answer = await renderKustomize(parts({ environment }))({ source }, scope());
  expect(answer).toMatchObject({ kind: "continue", result: { $returns: { objects: [{ kind: "A" }] } } });
  const seen = readFileSync(join(bin, "seen"), "utf8");
  expect(seen).toMatch(/^PATH='?\/nonexistent'?$/m);
  expect(seen).toMatch(/^https_proxy='?http:\/\/127\.0\.0\.1:1'?$/m);
  expect(seen).not.toContain("hunter2");
  expect(seen).not.toContain(root + "\n");
});

test("a kustomization of the source's own files refers to nothing else", () => {
  const text =
    "resources: [a.yaml]\ncommonAnnotations: { docs: https://example.org }\nconfigMapGenerator: [{ name: a, literals: [U=https://x] }]";
  const files = new Map([
    ["kustomization.yaml", Buffer.from(text)],
    ["a.yaml", Buffer.from("{}")],
  ]);
  expect(foreignReference(files, "")).toBeUndefined();
});

test("patches merge lists by name or type, and remove what is null or marked", () => {
  const base = { list: [{ name: "a", x: 1, y: 1 }, { name: "b" }], traits: [{ type: "t", p: 1 }], plain: [1], gone: 1 };
  const patch = {
    list: [{ name: "b", $patch: "delete" }, { name: "a", x: 2 }, { name: "c" }],
    traits: [{ type: "t", q: 2 }],
    plain: [2],
    gone: null,
  };
  expect(mergeByName(base, patch)).toEqual({
    list: [{ name: "a", x: 2, y: 1 }, { name: "c" }],
    traits: [{ type: "t", p: 1, q: 2 }],
    plain: [2],
  });
});
