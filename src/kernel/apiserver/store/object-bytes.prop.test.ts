import fc from "fast-check";
import { expect, test } from "vitest";
import { isJsonObject, type JsonObject } from "#lib/base/index.ts";
import { metadataOf, scanMetadata } from "./metadata.ts";
import { storedJson, withoutRevision, withRevision } from "./object-bytes.ts";

// Names and texts that try to be mistaken for the place where the resourceVersion goes.
const text = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom(
    '"metadata":{',
    'x"metadata',
    '\\"metadata":{',
    "metadata",
    '{"metadata":{"a":1}}',
    "uid",
    "__proto__",
  ),
);
const value = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    text,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(text, tie("value"), { maxKeys: 3 }),
  ),
})).value;

const metadata = fc
  .tuple(
    fc.record({ name: fc.string({ minLength: 1 }), uid: fc.uuid(), namespace: fc.string() }),
    fc.record(
      {
        creationTimestamp: text,
        deletionTimestamp: text,
        resourceVersion: text,
        labels: fc.dictionary(text, text),
        finalizers: fc.array(text),
        ownerReferences: fc.array(fc.record({ uid: text, name: text, controller: fc.boolean() })),
        managedFields: fc.array(fc.dictionary(text, value)),
        annotations: fc.dictionary(text, text),
      },
      { requiredKeys: [] },
    ),
  )
  .map(([required, optional]) => ({ ...optional, ...required }));

const object: fc.Arbitrary<JsonObject> = fc
  .tuple(fc.dictionary(text, value, { maxKeys: 3 }), metadata, fc.dictionary(text, value, { maxKeys: 3 }))
  .map(([before, meta, after]) => JSON.parse(JSON.stringify({ ...before, ...after, metadata: meta })) as JsonObject)
  .chain((whole) =>
    fc.shuffledSubarray(Object.keys(whole), { minLength: Object.keys(whole).length }).map((names) => {
      const shuffled: Record<string, unknown> = {};
      for (const name of names)
        Object.defineProperty(shuffled, name, {
          value: whole[name],
          enumerable: true,
          configurable: true,
          writable: true,
        });
      return shuffled as JsonObject;
    }),
  );

const expected = (whole: JsonObject, resourceVersion: string | undefined): unknown => {
  const { metadata: meta } = whole;
  return JSON.parse(JSON.stringify({ ...whole, metadata: { ...(isJsonObject(meta) ? meta : {}), resourceVersion } }));
};

test("the resourceVersion arrives in metadata, whatever the object holds and in whatever order", () => {
  fc.assert(
    fc.property(object, fc.nat(), (whole, revision) => {
      const json = Buffer.from(storedJson(whole));
      expect(JSON.parse(json.toString("utf8"))).toEqual(expected(whole, undefined));
      const bytes = withRevision(json, 0, revision);
      expect(JSON.parse(bytes.toString("utf8"))).toEqual(expected(whole, String(revision)));
      expect(withoutRevision(bytes, revision)).toEqual(json);
    }),
  );
});

test("metadata read from the bytes is the metadata of the parsed object", () => {
  fc.assert(
    fc.property(object, (whole) => {
      const json = Buffer.from(storedJson(whole));
      expect(scanMetadata(json)).toEqual(metadataOf(JSON.parse(json.toString("utf8")) as JsonObject));
    }),
  );
});
