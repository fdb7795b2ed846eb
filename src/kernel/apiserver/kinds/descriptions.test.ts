import { describe, expect, test } from "vitest";
import { isJsonObject, type JsonObject } from "#lib/base/index.ts";
import { definitionNames, rawDefinitions } from "#kernel/specs/index.ts";
import texts from "./data/descriptions.json" with { type: "json" };
import { describeDefinition } from "./descriptions.ts";

const all: Readonly<Record<string, Readonly<Record<string, string>>>> = texts;
const definitionsOf = (type: string) =>
  Object.entries(rawDefinitions()).flatMap(([name, raw]) =>
    name.endsWith(`.${type}`) && isJsonObject(raw) ? [raw] : [],
  );
const described = (name: string): JsonObject => {
  const raw = rawDefinitions()[name];
  return describeDefinition(name, isJsonObject(raw) ? raw : {});
};

test("every text is about a type and a field that exist", () => {
  const wrong = Object.entries(all).flatMap(([type, texts]) => {
    const properties = definitionsOf(type).map((raw) => raw["properties"]);
    if (properties.length === 0) return [type];
    const exists = (field: string) =>
      field === "" || properties.some((members) => isJsonObject(members) && Object.hasOwn(members, field));
    return Object.keys(texts).flatMap((field) => (exists(field) ? [] : [`${type}.${field}`]));
  });
  expect(wrong).toEqual([]);
});

test("every text is one sentence or two, on one line, with a full stop", () => {
  const texts = Object.values(all).flatMap((fields) => Object.values(fields));
  expect(texts.filter((text) => !/^[A-Z"].*\.$/.test(text) || text.length > 160)).toEqual([]);
});

test("every kind that is served says what it is, and what its members are", () => {
  const {
    objectMeta: _meta,
    listMeta: _list,
    deleteOptions: _options,
    status: _status,
    jobSpec: _spec,
    ...kinds
  } = definitionNames;
  for (const name of Object.values(kinds)) {
    const { description, properties } = described(name);
    expect([name, description]).toEqual([name, expect.stringMatching(/./)]);
    const bare = Object.entries(isJsonObject(properties) ? properties : {}).filter(
      ([, schema]) => isJsonObject(schema) && schema["description"] === undefined,
    );
    expect([name, bare.map(([field]) => field).filter((field) => !field.startsWith("deprecated"))]).toEqual([name, []]);
  }
});

describe("a definition", () => {
  test("keeps what it has and stays as it is", () => {
    const raw = { type: "object", properties: { uid: { type: "string" }, odd: { type: "string" } }, required: ["uid"] };
    const before = structuredClone(raw);
    expect(describeDefinition("io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference", raw)).toEqual({
      type: "object",
      description: "Points to an object that owns this one.",
      properties: {
        uid: { type: "string", description: "Unique identifier of the owner." },
        odd: { type: "string" },
      },
      required: ["uid"],
    });
    expect(raw).toEqual(before);
  });

  test("has its references wrapped, because OpenAPI 3.0 ignores what stands beside them", () => {
    const raw = { properties: { metadata: { $ref: "#/components/schemas/M" } } };
    expect(describeDefinition("io.k8s.api.core.v1.Pod", raw)["properties"]).toEqual({
      metadata: { allOf: [{ $ref: "#/components/schemas/M" }], description: expect.stringMatching(/./) },
    });
  });

  test("of an object says what kind and apiVersion are, of anything else it does not", () => {
    const properties = { kind: { type: "string" } };
    const object = { properties, "x-kubernetes-group-version-kind": [] };
    expect(describeDefinition("x.v1.Unknown", object)["properties"]).toHaveProperty("kind.description");
    expect(describeDefinition("x.v1.Unknown", { properties })["properties"]).not.toHaveProperty("kind.description");
  });

  test("without members or texts is left alone", () => {
    expect(describeDefinition("x.v1.Unknown", { type: "string" })).toEqual({ type: "string" });
    expect(describeDefinition("constructor", { properties: { constructor: {} } })).toEqual({
      properties: { constructor: {} },
    });
  });
});
