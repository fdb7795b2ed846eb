import fc from "fast-check";
import { expect, test } from "vitest";
import { isJsonObject, type JsonObject } from "#lib/base/index.ts";
import { runs } from "#test/support/property-runs.ts";
import { metadataOf, scanMetadata } from "./metadata.ts";
import { atRevision, type Earlier, objectText, withRevision, writeText } from "./object-bytes.ts";

const often = { numRuns: runs(100) };

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

/** The bytes of an object at a revision, as a write makes them. */
function written(whole: JsonObject, revision: number, earlier?: Earlier): Required<Earlier> {
  const parsed = atRevision(whole, revision);
  const text = objectText(parsed, earlier);
  const bytes = Buffer.alloc(text.bytes + 2, "#");
  writeText(text, bytes, 1);
  expect([bytes[0], bytes.at(-1)]).toEqual([0x23, 0x23]);
  return { bytes: bytes.subarray(1, -1), parsed, parts: text.parts };
}

const parse = (bytes: Buffer): unknown => JSON.parse(bytes.toString("utf8"));

test("the resourceVersion arrives in metadata, whatever the object holds and in whatever order", () => {
  fc.assert(
    fc.property(object, fc.nat(), (whole, revision) => {
      const { bytes } = written(whole, revision);
      expect(parse(bytes)).toEqual(expected(whole, String(revision)));
      expect(withRevision(bytes, revision)).toEqual(bytes);
      expect(() => withRevision(bytes, revision + 1)).toThrow("names another");
    }),
    often,
  );
});

test("bytes without a resourceVersion get it when they are read", () => {
  fc.assert(
    fc.property(object, fc.nat(), (whole, revision) => {
      const { bytes } = written(whole, revision);
      const bare = Buffer.from(bytes.toString("latin1").replace(`"resourceVersion":"${revision}",`, ""), "latin1");
      expect(parse(bare)).toEqual(expected(whole, undefined));
      expect(withRevision(bare, revision)).toEqual(bytes);
    }),
    often,
  );
});

test("metadata read from the bytes is the metadata of the parsed object", () => {
  fc.assert(
    fc.property(object, fc.nat(), (whole, revision) => {
      const { bytes } = written(whole, revision);
      expect(scanMetadata(bytes)).toEqual(metadataOf(parse(bytes) as JsonObject));
    }),
    often,
  );
});

/** One step of an object's life: members that get new values, and those that go. */
const step = fc.record({
  set: fc.dictionary(fc.constantFrom("spec", "status", "data", "kind"), value, { maxKeys: 2 }),
  removed: fc.subarray(["spec", "status", "data"], { maxLength: 1 }),
  /** Read back from its bytes first, as an object is that was forgotten meanwhile. */
  isParsed: fc.boolean(),
});

test("bytes copied from the revision before are those that writing all of it would make", () => {
  fc.assert(
    fc.property(object, fc.array(step, { minLength: 1, maxLength: 6 }), (first, steps) => {
      let before: Earlier = written(first, 1);
      for (const [index, { set, removed, isParsed }] of steps.entries()) {
        if (isParsed) before = { ...before, parsed: parse(before.bytes) as JsonObject };
        const next = {
          ...before.parsed,
          ...set,
          ...Object.fromEntries(removed.map((name) => [name, undefined])),
        } as JsonObject;
        const after = written(next, index + 2, before);
        expect(after).toEqual(written(next, index + 2));
        before = after;
      }
    }),
    often,
  );
});

test("what did not change is copied, not encoded again", () => {
  const whole = {
    kind: "Item",
    metadata: { name: "a", uid: "u" },
    spec: { text: "größer" },
    status: { phase: "Running" },
  };
  const before = written(whole, 1);
  const text = objectText(atRevision({ ...before.parsed, status: { phase: "Done" } }, 2), before);
  expect(
    text.pieces.map(({ source }) => (typeof source === "string" ? source : `copy of ${source.toString("utf8")}`)),
  ).toEqual([
    '{"kind":"Item","metadata":{"resourceVersion":"2","name":"a","uid":"u"}',
    ',"spec":',
    'copy of {"text":"größer"}',
    ',"status":',
    '{"phase":"Done"}',
    "}",
  ]);
});
