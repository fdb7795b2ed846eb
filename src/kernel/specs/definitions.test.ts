import { describe, expect, test } from "vitest";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { compileSchema } from "#lib/schema/index.ts";
import { definition, definitionNames, definitionOfRef, rawDefinitions, refOf, refTo } from "./definitions.ts";

const compile = (name: string) => compileSchema({ $ref: name }, { resolve: definition });

test("the data has every definition that code refers to", () => {
  const known = rawDefinitions();
  expect(Object.values(definitionNames).filter((name) => !Object.hasOwn(known, name))).toEqual([]);
});

test("every reference of the data leads to a definition", () => {
  const missing = new Set<string>();
  const visit = (value: JsonValue | undefined): void => {
    if (Array.isArray(value)) for (const item of value) visit(item);
    if (!isJsonObject(value)) return;
    const ref = refOf(value);
    if (ref !== undefined && !Object.hasOwn(rawDefinitions(), ref)) missing.add(ref);
    for (const member of Object.values(value)) visit(member);
  };
  visit(rawDefinitions());
  expect([...missing]).toEqual([]);
});

test("the data carries no prose", () => {
  expect(JSON.stringify(rawDefinitions())).not.toContain('"description":"');
});

test("every definition becomes a schema that compiles, and the same one each time", () => {
  for (const name of Object.keys(rawDefinitions())) {
    expect(definition(name)).toBe(definition(name));
    expect(() => compile(name).validate({})).not.toThrow();
  }
});

test.each(["", "nothing", "constructor", "__proto__"])("%j names no definition", (name) => {
  expect(definition(name)).toBeUndefined();
});

test("a name goes into a reference and out again", () => {
  expect(refTo("a.B")).toBe("#/components/schemas/a.B");
  expect(definitionOfRef(refTo("a.B"))).toBe("a.B");
});

test.each<[JsonObject, string | undefined]>([
  [{ $ref: refTo("A") }, "A"],
  [{ allOf: [{ $ref: refTo("A") }], default: {} }, "A"],
  [{ allOf: [] }, undefined],
  [{ allOf: [{ type: "string" }] }, undefined],
  [{ type: "object" }, undefined],
])("the reference of %j is %j", (raw, name) => {
  expect(refOf(raw)).toBe(name);
});

describe("types that JSON alone does not tell", () => {
  const types = {
    port: "io.k8s.api.core.v1.TCPSocketAction",
    amounts: "io.k8s.api.core.v1.ResourceRequirements",
    fields: "io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry",
    schema: "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps",
  };
  test.each<[string, string, JsonObject, number]>([
    ["a port is a number", types.port, { port: 80 }, 0],
    ["or a name", types.port, { port: "http" }, 0],
    ["but not a fraction of one", types.port, { port: 1.5 }, 1],
    ["an amount is a text", types.amounts, { limits: { cpu: "500m" } }, 0],
    ["but no other text", types.amounts, { limits: { cpu: "many" } }, 1],
    ["nor an object", types.amounts, { limits: { cpu: {} } }, 1],
    ["fields of a manager are anything", types.fields, { fieldsV1: { "f:spec": {} } }, 0],
    ["a default of a schema is anything", types.schema, { default: [1, { a: null }] }, 0],
    ["additional properties are a boolean", types.schema, { additionalProperties: false }, 0],
    ["or a schema", types.schema, { additionalProperties: { type: "string" } }, 0],
  ])("%s", (_, name, value, errors) => {
    const schema = compile(name);
    expect(schema.prune(value)).toEqual({ value, unknown: [] });
    expect(schema.validate(value)).toHaveLength(errors);
  });
});

test("an amount may be a number, and is stored in its canonical form", () => {
  const { value } = compile("io.k8s.api.core.v1.ResourceRequirements").prune({
    limits: { cpu: 1.5, memory: "1024Mi", pods: "1000m", "a/b": "many" },
  });
  expect(value).toEqual({ limits: { cpu: "1500m", memory: "1Gi", pods: "1", "a/b": "many" } });
});

test("members of a schema that stands in the place of something simpler are pruned like those of any schema", () => {
  const name = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";
  const { unknown } = compile(name).prune({ additionalProperties: { tpye: "string" } });
  expect(unknown).toEqual(["additionalProperties.tpye"]);
});

test("null in lists and maps is the zero value of what belongs there, and stays where anything may be", () => {
  const zero = (name: string, value: JsonObject) => compile(name).prune(value).value;
  const nulls = { command: [null], ports: [null], resources: { limits: { cpu: null } } };
  expect(zero("io.k8s.api.core.v1.Container", nulls)).toEqual({
    command: [""],
    ports: [{}],
    resources: { limits: { cpu: "0" } },
  });
  expect(zero("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps", { enum: [null] })).toEqual({
    enum: [null],
  });
});

test("zero values are filled in where a field is required, and nowhere else", () => {
  const schema = compile("io.k8s.api.core.v1.ContainerPort");
  expect(schema.withDefaults({})).toEqual({ containerPort: 0 });
});
