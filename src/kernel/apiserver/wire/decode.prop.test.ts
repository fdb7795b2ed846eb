import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject, JsonValue } from "#lib/base/index.ts";
import { ApiError } from "#kernel/model/index.ts";
import { runs } from "#test/support/property-runs.ts";
import { decodeProtobuf } from "./envelope.ts";
import { type FieldType, messageNameOf, messageType } from "./messages.ts";
import { jsonTypes, specials } from "./special.ts";
import { bytesField, doubleField, envelope, messageField, textField, varintField } from "./testing/encoder.ts";

/** A field as JSON shows it and as it is encoded. */
interface Sample {
  readonly value: JsonValue;
  readonly encoded: Uint8Array;
}

const kinds: readonly (readonly [string, string])[] = [
  ["v1", "Pod"],
  ["v1", "Service"],
  ["v1", "Secret"],
  ["v1", "Endpoints"],
  ["v1", "PersistentVolume"],
  ["v1", "ReplicationController"],
  ["batch/v1", "CronJob"],
  ["apps/v1", "Deployment"],
  ["rbac.authorization.k8s.io/v1", "ClusterRole"],
  ["networking.k8s.io/v1", "Ingress"],
  ["autoscaling/v2", "HorizontalPodAutoscaler"],
  ["policy/v1", "PodDisruptionBudget"],
];

const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 });

/** Values that are not what absence means, so that they are there again after decoding. */
function scalar(type: string, number: number): fc.Arbitrary<Sample> {
  switch (type) {
    case "string":
      return text.map((value) => ({ value, encoded: textField(number, value) }));
    case "bytes":
      return fc
        .uint8Array({ minLength: 1, maxLength: 8 })
        .map((bytes) => ({ value: Buffer.from(bytes).toString("base64"), encoded: bytesField(number, bytes) }));
    case "bool":
      return fc.constant({ value: true, encoded: varintField(number, 1) });
    case "double":
      return fc
        .double({ noNaN: true, noDefaultInfinity: true, min: 0.5 })
        .map((value) => ({ value, encoded: doubleField(number, value) }));
    default: {
      const range = type === "int32" ? { min: -(2 ** 31), max: 2 ** 31 - 1 } : { min: Number.MIN_SAFE_INTEGER };
      return fc
        .maxSafeInteger()
        .map((value) => (type === "int32" ? value | 0 : value))
        .filter((value) => value !== 0 && value >= range.min)
        .map((value) => ({ value, encoded: varintField(number, value) }));
    }
  }
}

/** Some fields of a message, to a depth; types with a JSON of their own have tests of their own. */
function message(name: string, depth: number): fc.Arbitrary<readonly (Sample & { readonly name: string })[]> {
  const fields = [...(messageType(name) ?? new Map<number, FieldType>())].filter(([, { type }]) =>
    isPlain(type, depth),
  );
  return fc
    .subarray(fields, { maxLength: Math.min(6, fields.length) })
    .chain((chosen) => fc.tuple(...chosen.map(([number, field]) => fieldSample(number, field, depth))))
    .map((samples) => samples.flat());
}

const isPlain = (type: string, depth: number): boolean =>
  !specials.has(type) && !jsonTypes.has(type) && (depth > 0 || !type.includes("."));

function fieldSample(
  number: number,
  field: FieldType,
  depth: number,
): fc.Arbitrary<(Sample & { readonly name: string })[]> {
  const { name, type, cardinality } = field;
  const value = (at: number): fc.Arbitrary<Sample> =>
    type.includes(".")
      ? message(type, depth - 1).map((members) => ({
          value: objectOf(members),
          encoded: messageField(at, ...members.map(({ encoded }) => encoded)),
        }))
      : scalar(type, at);
  switch (cardinality) {
    case "embedded":
      return message(type, depth - 1).map((members) =>
        members.map((member) => ({ ...member, encoded: messageField(number, member.encoded) })),
      );
    case "list":
      return fc
        .array(value(number), { minLength: 1, maxLength: 3 })
        .map((items) => [
          { name, value: items.map((item) => item.value), encoded: Buffer.concat(items.map(({ encoded }) => encoded)) },
        ]);
    case "map":
      return fc
        .uniqueArray(fc.tuple(text, value(2)), { selector: ([key]) => key, minLength: 1, maxLength: 3 })
        .map((entries) => [
          {
            name,
            value: Object.fromEntries(entries.map(([key, entry]) => [key, entry.value])),
            encoded: Buffer.concat(
              entries.map(([key, entry]) => messageField(number, textField(1, key), entry.encoded)),
            ),
          },
        ]);
    case "plain":
    case "pointer":
      return value(number).map((sample) =>
        isEmpty(sample.value) && cardinality === "plain" ? [] : [{ name, ...sample }],
      );
  }
}

const isEmpty = (value: JsonValue): boolean =>
  typeof value === "object" && value !== null && Object.keys(value).length === 0;

const objectOf = (members: readonly { readonly name: string; readonly value: JsonValue }[]): JsonObject =>
  Object.fromEntries(members.map(({ name, value }) => [name, value]));

const body = fc
  .constantFrom(...kinds)
  .chain(([apiVersion, kind]) =>
    fc.tuple(fc.constant({ apiVersion, kind }), message(messageNameOf(apiVersion, kind) ?? "", 4)),
  );

test("what is encoded field by field is decoded to the same JSON", () => {
  fc.assert(
    fc.property(body, ([type, members]) => {
      const encoded = envelope(type.apiVersion, type.kind, ...members.map((member) => member.encoded));
      expect(decodeProtobuf(encoded)).toEqual({ ...type, ...objectOf(members) });
    }),
    { numRuns: runs(300) },
  );
});

test("damaged bytes are decoded or refused with 400 or 415, and nothing else happens", () => {
  const damage = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(body, damage, fc.nat(), ([type, members], changes, cut) => {
      const bytes = envelope(type.apiVersion, type.kind, ...members.map((member) => member.encoded));
      for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
      const damaged = cut % 3 === 0 ? bytes.subarray(0, cut % bytes.length) : bytes;
      try {
        expect(JSON.stringify(decodeProtobuf(damaged)).length).toBeLessThan(40 * damaged.length + 4096);
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(ApiError);
        expect([400, 415]).toContain((thrown as ApiError).code);
      }
    }),
    { numRuns: runs(500) },
  );
});
