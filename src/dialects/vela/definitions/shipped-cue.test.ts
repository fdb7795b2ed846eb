import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";
import { afterAll, beforeAll, expect, test } from "vitest";
import { defined, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { type Cue, createCue, type TemplateHost } from "#kernel/template/index.ts";
import { realHost } from "#kernel/template/testing/index.ts";
import { cueSources } from "../cue-sources.ts";
import { knownActions, velaPackages } from "../packages.ts";
import type { Definition } from "./definition.ts";
import { shippedDefinitions } from "./shipped.ts";

let host: TemplateHost;
let cue: Cue;
let definitions: readonly Definition[];

beforeAll(async () => {
  host = await realHost();
  cue = createCue({ templates: host, packages: velaPackages, budgetMs: 20_000 });
  definitions = await shippedDefinitions();
});

afterAll(() => host.close());

test("17.21 every shipped definition compiles with the packages", async () => {
  for (const { type, name, template } of definitions)
    expect(await cue.vet(template, `${type}/${name}`), name).toEqual({ ok: true, value: undefined });
});

test("every package compiles by itself", async () => {
  for (const path of Object.keys(await velaPackages())) {
    const name = path.split("/").at(-1);
    expect(await cue.vet(`import "${path}"\nall: ${name}\n`, path), path).toEqual({ ok: true, value: undefined });
  }
});

test("the reader of shipped definitions reads what the CUE module reads", async () => {
  const texts = (await cueSources()).definitions;
  const squeezed = (text: string) => text.replace(/\s+/g, " ");
  for (const { type, name, spec, annotations, labels, template } of definitions) {
    const read = await cue.readDefinition(texts[`${type}/${name}`] ?? "", name);
    if (!read.ok) throw new Error(`${name}: ${read.error.message}`);
    const { value } = read;
    const customOf = (given: Readonly<Record<string, string>>) =>
      Object.fromEntries(Object.entries(given).map(([key, text]) => [`custom.definition.oam.dev/${key}`, text]));
    expect({ name: value.name, type: value.type, spec: value.attributes }, name).toEqual({ name, type, spec });
    expect(squeezed(value.template), name).toBe(squeezed(template));
    expect(customOf(value.labels), name).toEqual(labels);
    expect({ ...customOf(value.annotations), "definition.oam.dev/description": value.description }, name).toEqual(
      annotations,
    );
  }
});

test("every parameter has a schema, and every field at its top a description", async () => {
  for (const { type, name, template } of definitions) {
    const schema = await cue.schema(template);
    if (!schema.ok) throw new Error(`${type}/${name}: ${schema.error.message}`);
    for (const [field, { description }] of Object.entries((schema.value["properties"] ?? {}) as JsonObject) as [
      string,
      JsonObject,
    ][])
      expect(description, `${type}/${name}: ${field}`).toMatch(/^[A-Z].*[^.]$/);
  }
});

test("actions are declared by packages only", async () => {
  const actions = await knownActions();
  expect(actions).toContain("kube/apply");
  expect(actions).toContain("rollout/promote");
  for (const { name, template } of definitions) expect(template, name).not.toMatch(/#do:|#provider:/);
  for (const [path, text] of Object.entries(await velaPackages()))
    expect(text.match(/#do:/g)?.length ?? 0, path).toBe(text.match(/#do: +"[^"]+", #provider: +"[^"]+"/g)?.length ?? 0);
});

interface Case {
  readonly definition: string;
  readonly parameter: JsonValue;
  readonly context?: JsonObject;
  /** A workload, or the name of one: what a trait changes. */
  readonly base?: string | JsonObject;
  readonly output?: JsonObject;
  readonly outputs?: Readonly<Record<string, JsonObject>>;
  readonly errs?: readonly string[];
}

interface Table {
  readonly context: JsonObject;
  readonly bases: Readonly<Record<string, JsonObject>>;
  readonly cases: readonly Case[];
}

const table = parse(await readFile(join(import.meta.dirname, "testdata/render.yaml"), "utf8")) as Table;

test.each(table.cases)("17.16 $definition renders its objects from $parameter", async (given) => {
  const found = definitions.find(({ type, name }) => `${type}/${name}` === given.definition);
  const output = typeof given.base === "string" ? table.bases[given.base] : given.base;
  const base = output === undefined ? undefined : { output, outputs: {} };
  const rendered = await cue.render({
    text: found?.template ?? "",
    file: given.definition,
    parameter: given.parameter,
    context: { ...table.context, ...given.context, ...base },
    ...defined({ base }),
  });
  if (!rendered.ok) throw new Error(rendered.error.message);
  const { errs = [], outputs = {} } = given;
  expect(rendered.value.errs).toEqual(errs);
  if (errs.length > 0) return;
  expect(rendered.value.output).toEqual(given.output ?? output);
  expect(rendered.value.outputs).toEqual(outputs);
});

test("every component and trait is in the table", () => {
  const named = new Set(table.cases.map(({ definition }) => definition));
  const missing = definitions.filter(({ type, name }) => /component|trait/.test(type) && !named.has(`${type}/${name}`));
  expect(missing.map(({ name }) => name)).toEqual([]);
});
