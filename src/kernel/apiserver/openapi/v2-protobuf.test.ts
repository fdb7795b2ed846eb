import { expect, test } from "vitest";
import { encodeSwagger } from "./openapi-documents.ts";

type Field = readonly [number: number, body: Uint8Array];

/** The length-delimited fields of a message, which are all it may have. */
function fieldsOf(bytes: Uint8Array): readonly Field[] {
  const fields: Field[] = [];
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++] ?? 0;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    const length = varint();
    expect([tag & 7, at + length <= bytes.length]).toEqual([2, true]);
    fields.push([tag >>> 3, bytes.subarray(at, at + length)]);
    at += length;
  }
  return fields;
}
const all = (bytes: Uint8Array | undefined, number: number): readonly Uint8Array[] =>
  fieldsOf(bytes ?? new Uint8Array()).flatMap(([found, body]) => (found === number ? [body] : []));
const text = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? new Uint8Array()).toString();
/** Walks into the first field of each number. */
const into = (bytes: Uint8Array, ...path: readonly number[]): Uint8Array | undefined =>
  path.reduce<Uint8Array | undefined>((found, number) => all(found, number)[0], bytes);

const description = "A graph of steps. ".repeat(20);
const encoded = encodeSwagger({
  swagger: "2.0",
  info: { title: "T", version: "v1" },
  definitions: {
    Flow: {
      type: "object",
      description,
      required: ["spec", "kind"],
      properties: {
        spec: { type: "object", additionalProperties: { $ref: "#/definitions/Step" } },
        list: { type: "array", items: { type: "integer", format: "int64" } },
      },
      "x-kubernetes-group-version-kind": [{ group: "g", kind: "Flow", version: "v1" }],
    },
    Step: { type: "object" },
  },
});

test("a document begins with its version and names its parts", () => {
  expect(Buffer.from(encoded.subarray(0, 5)).toString("hex")).toBe("0a03322e30");
  expect([text(into(encoded, 2, 1)), text(into(encoded, 2, 2))]).toEqual(["T", "v1"]);
  expect(all(into(encoded, 9), 1).map((named) => text(into(named, 1)))).toEqual(["Flow", "Step"]);
});

test("a schema keeps what clients check and explain", () => {
  const [flow] = all(into(encoded, 9), 1).map((named) => into(named, 2) ?? new Uint8Array());
  const schema = flow ?? new Uint8Array();
  expect(text(into(schema, 22, 1))).toBe("object");
  // Longer than one byte of length can say.
  expect(text(into(schema, 4))).toBe(description);
  expect(all(schema, 19).map(text)).toEqual(["spec", "kind"]);
  const properties = all(into(schema, 25), 1);
  expect(properties.map((named) => text(into(named, 1)))).toEqual(["spec", "list"]);
  const [spec, list] = properties.map((named) => into(named, 2) ?? new Uint8Array());
  expect(text(into(spec ?? schema, 21, 1, 1))).toBe("#/definitions/Step");
  expect(text(into(list ?? schema, 23, 1, 2))).toBe("int64");
  expect(text(into(schema, 31, 1))).toBe("x-kubernetes-group-version-kind");
  expect(JSON.parse(text(into(schema, 31, 2, 2)))).toEqual([{ group: "g", kind: "Flow", version: "v1" }]);
});

test("an empty document is the version and nothing else", () => {
  expect(Buffer.from(encodeSwagger({})).toString("hex")).toBe("0a03322e30120042004a00");
});
