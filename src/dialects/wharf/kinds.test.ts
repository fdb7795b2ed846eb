import { expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { compileSchema, readStructuralSchema, schemaAsJson } from "#lib/schema/index.ts";
import { admission } from "./admission.ts";
import { Build, kinds, Project, Worker } from "./kinds.ts";

test.each(kinds.map((kind) => [kind.kind, kind] as const))("%s has a structural schema", (_name, kind) => {
  expect(readStructuralSchema(schemaAsJson(kind.schema), [])).toMatchObject({ ok: true });
});

const object = (kind: string, spec: JsonObject): JsonObject => ({
  apiVersion: "wharf.slipway.dev/v1alpha1",
  kind,
  metadata: { name: "x", uid: "00000000-0000-4000-8000-0123456789ab" },
  spec,
});

test("schemas say what is wrong with fields", () => {
  const fields = (kind: typeof Build | typeof Project | typeof Worker, spec: JsonObject) =>
    compileSchema(kind.schema)
      .validate(object(kind.kind, spec))
      .map(({ field }) => field);
  expect(fields(Project, { name: "web" })).toEqual([]);
  expect(fields(Project, { name: "", projectId: 0 })).toEqual(["spec.name", "spec.projectId"]);
  expect(fields(Build, { project: "p", buildId: 0, stage: 3 })).toEqual(["spec.buildId", "spec.stage"]);
  expect(fields(Build, { project: "p", stage: "ALL", buildId: 1e12 + 1 })).toEqual(["spec.buildId"]);
  expect(fields(Project, { name: "web", projectId: 1e12 + 1 })).toEqual(["spec.projectId"]);
  expect(fields(Worker, { buildRef: -1 })).toEqual(["spec.buildRef"]);
});

/** What a server refuses of a new object, or with `old` of a change. */
const refusals = (kind: string, spec: JsonObject, old?: JsonObject): readonly string[] => {
  const rule = admission.find((one) => one.kind === kind);
  const before = old === undefined ? undefined : object(kind, old);
  return (rule?.validate(object(kind, spec), before).causes ?? []).map(({ field, message }) => `${field}: ${message}`);
};

test("a build needs a project, and inputs are scalars or references to secrets", () => {
  expect(refusals("Build", { stage: "ALL" })).toEqual([
    "spec.project: expected the name of a Project, whose repository is cloned",
  ]);
  const inputs = { a: "x", b: 1, c: true, d: { secretKeyRef: { name: "s", key: "k" } } };
  expect(refusals("Build", { project: "p", inputs })).toEqual([]);
  expect(refusals("Build", { project: "p", inputs: { a: { secretKeyRef: { name: "s" } }, b: [1], c: null } })).toEqual(
    ["a", "b", "c"].map(
      (name) => `spec.inputs.${name}: expected a text, number, boolean or {secretKeyRef: {name, key}}`,
    ),
  );
});

test("a definition that is none is refused with the line of what is wrong", () => {
  expect(refusals("Build", { project: "p", definition: "build: {a: {container: {image: x, cmds: [y]}}}" })).toEqual([]);
  expect(refusals("Build", { project: "p", definition: "a: 1\n\tb: 2" })).toEqual([
    expect.stringContaining("spec.definition: line 2: "),
  ]);
});

test("a password that is told in plain text is refused where the build brings its definition", () => {
  const spec = { project: "p", definition: "inputs: [{name: pw, type: password}, {name: v, type: string}]" };
  const inputs = { pw: "tea", v: "1" };
  expect(refusals("Build", { ...spec, inputs })).toEqual([
    "spec.inputs.pw: expected {secretKeyRef: {name, key}}, because it is a password",
  ]);
  expect(refusals("Build", { ...spec, inputs: { pw: { secretKeyRef: { name: "s", key: "k" } } } })).toEqual([]);
  // One that is there already goes its way.
  expect(refusals("Build", { ...spec, inputs, buildId: 3 }, { ...spec, inputs })).toEqual([]);
});

test("a build stays what it was asked for, may be given its number once, and is not to be saved from its end", () => {
  const spec = { project: "p", stage: "ALL" };
  expect(refusals("Build", { ...spec, buildId: 3 }, spec)).toEqual([]);
  expect(refusals("Build", { ...spec, cancel: true }, spec)).toEqual([]);
  expect(refusals("Build", { project: "q", stage: "test" }, spec)).toEqual([
    "spec.project: a build is immutable; create another build",
    "spec.stage: a build is immutable; create another build",
  ]);
  expect(refusals("Build", { ...spec, buildId: 4 }, { ...spec, buildId: 3 })).toHaveLength(1);
  // A value may be moved to a Secret, and nothing else about inputs may change.
  const [plain, moved] = [
    { pw: "a", v: 1 },
    { pw: { secretKeyRef: { name: "s", key: "k" } }, v: 1 },
  ];
  expect(refusals("Build", { ...spec, inputs: moved }, { ...spec, inputs: plain })).toEqual([]);
  const others = [{ pw: "b", v: 1 }, { ...moved, v: 2 }, { ...moved, w: 1 }, { pw: moved.pw }];
  for (const inputs of others)
    expect(refusals("Build", { ...spec, inputs }, { ...spec, inputs: plain })).toHaveLength(1);
  expect(refusals("Build", { ...spec, inputs: plain }, { ...spec, inputs: moved })).toHaveLength(1);
  // From the Secret of another build to its own, and to no other one.
  const inSecret = (name: string) => ({
    ...spec,
    inputs: { ...moved, pw: { secretKeyRef: { name, key: "input-1" } } },
  });
  expect(refusals("Build", inSecret("x-inputs-0123456789ab"), inSecret("y-inputs-7"))).toEqual([]);
  expect(refusals("Build", inSecret("x-inputs-0123456789ac"), inSecret("y-inputs-7"))).toHaveLength(1);
  expect(refusals("Build", spec, { ...spec, cancel: true })).toEqual([
    "spec.cancel: canceling cannot be undone; create another build",
  ]);
});

test("a password in the address of a project is refused, unless it is there already", () => {
  const gitUrl = "https://me:tea@h/x.git";
  const hint = "expected an address without a password; spec.tokenSecretRef names a Secret with it";
  expect(refusals("Project", { name: "web", gitUrl, overrides: { gitUrl } })).toEqual([
    `spec.gitUrl: ${hint}`,
    `spec.overrides.gitUrl: ${hint}`,
  ]);
  expect(refusals("Project", { name: "web", gitUrl: "https://me@h/x.git" })).toEqual([]);
  expect(refusals("Project", { name: "web", gitUrl, projectId: 1 }, { name: "web", gitUrl })).toEqual([]);
});

test("a project has one default branch at most, and keeps its number", () => {
  const branches = [
    { name: "a", default: true },
    { name: "b", default: true },
  ];
  expect(refusals("Project", { name: "web", branches })).toEqual([
    "spec.branches: expected one default branch at most",
  ]);
  expect(refusals("Project", { name: "web", projectId: 2 }, { name: "web", projectId: 1 })).toHaveLength(1);
});

test("a change of a project that would send its token elsewhere is refused", () => {
  const spec = { name: "web", gitUrl: "https://git.example/a.git", tokenSecretRef: { name: "t", key: "token" } };
  expect(refusals("Project", { ...spec, gitUrl: "https://evil.example/a.git" }, spec)).toEqual([
    expect.stringContaining("spec.gitUrl: the project's token is for https://git.example"),
  ]);
  expect(refusals("Project", { ...spec, gitUrl: "https://git.example/b.git" }, spec)).toEqual([]);
});

test("the server notes who creates a build, whatever was sent, and keeps that", () => {
  const rule = admission.find((one) => one.kind === "Build");
  const annotations = { "wharf.slipway.dev/created-by": "somebody-else" };
  const sent = { ...object("Build", { project: "p" }), metadata: { name: "x", annotations } };
  const stored = rule?.prepareForCreate(sent, { user: "anna", groups: [] }) ?? {};
  expect(stored).toMatchObject({ metadata: { name: "x", annotations: { "wharf.slipway.dev/created-by": "anna" } } });
  expect(rule?.validate(sent, stored).causes).toHaveLength(1);
  expect(rule?.validate(stored, stored).causes).toEqual([]);
});
