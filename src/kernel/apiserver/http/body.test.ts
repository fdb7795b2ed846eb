import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { decodeYaml } from "./yaml-body.ts";
import { BodyPieces } from "./body-pieces.ts";
import { decodeApplied, decodeJson, decodeObject, mediaTypeOf } from "./body.ts";

/** A request with these headers whose body comes in these pieces. */
const requestOf = (headers: IncomingHttpHeaders, pieces: readonly (string | Buffer)[] = []): IncomingMessage =>
  Object.assign(Readable.from(pieces.map((piece) => Buffer.from(piece))), { headers }) as unknown as IncomingMessage;
const bodyOf = (text: string | Buffer) => new BodyPieces(Buffer.from(text));
const read = (text: string | Buffer, headers: IncomingHttpHeaders = {}) =>
  decodeObject(bodyOf(text), requestOf(headers), readers);
let shares = 0;
const readers = {
  maxDepth: 200,
  readYaml: (text: BodyPieces) => decodeYaml(text.joined()),
  nextShare: () => Promise.resolve(void (shares += 1)),
};
const json = { "content-type": "application/json" };
const yaml = { "content-type": "application/yaml" };

describe("the media type", () => {
  test.each<[string | undefined, string | undefined]>([
    [undefined, undefined],
    ["application/json", "application/json"],
    ["Application/JSON; charset=utf-8", "application/json"],
    [" application/yaml ;x=y", "application/yaml"],
    ["", ""],
  ])("of %j is %j", (header, type) => {
    expect(mediaTypeOf(requestOf(header === undefined ? {} : { "content-type": header }))).toBe(type);
  });

  test.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/cbor",
    "text/json",
    "",
  ])("%j is refused with what is taken", (type) => {
    return expect(read("{}", { "content-type": type })).rejects.toMatchObject({
      code: 415,
      message: expect.stringContaining("application/json, application/yaml"),
    });
  });

  test("is JSON where none is given, but never for a browser", async () => {
    expect((await read('{"a":1}')).value).toEqual({ a: 1 });
    await expect(read('{"a":1}', { origin: "https://localhost:6443" })).rejects.toMatchObject({ code: 415 });
  });
});

describe("JSON", () => {
  test("is read with the keys that stand twice, each by its path", async () => {
    const { value, duplicates } = await read('{"a":{"b":1,"b":2},"c":[{"d":1,"d":1}]}', json);
    expect(value).toEqual({ a: { b: 2 }, c: [{ d: 1 }] });
    expect(duplicates).toHaveLength(2);
    expect(duplicates[0]).toContain("b");
  });

  test("keeps names that have a meaning in JavaScript", async () => {
    const { value } = await read('{"__proto__":{"x":1},"constructor":2,"toString":3}', json);
    expect(Object.keys(value as object).sort()).toEqual(["__proto__", "constructor", "toString"]);
    expect(({} as { x?: number }).x).toBeUndefined();
  });

  test("of nothing is nothing", async () => {
    expect(await read("", json)).toEqual({ value: undefined, duplicates: [] });
    expect(await read("")).toEqual({ value: undefined, duplicates: [] });
  });

  test.each<[string, string | Buffer]>([
    ["cut off", '{"a":'],
    ["two values", "{}{}"],
    ["a byte order mark", "\ufeff{}"],
    ["bytes that are no UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ["a number beyond every number", '{"a":1e400}'],
    ["an integer beyond those that are exact", '{"a":9007199254740993}'],
    ["NaN", '{"a":NaN}'],
    ["a comment", "{} // no"],
    ["201 levels", `${"[".repeat(201)}${"]".repeat(201)}`],
  ])("%s is refused with its place", (_what, text) => {
    expect(() => decodeJson(Buffer.from(text), 200)).toThrow(
      expect.objectContaining({
        code: 400,
        message: expect.stringMatching(/^the body of the request cannot be read as JSON: line \d+, column \d+: ./),
      }),
    );
  });

  test("of more than 64 KiB is read in steps, and says the same", async () => {
    const long = { text: "ü".repeat(40_000), 'a"b': [1, null, true] };
    shares = 0;
    expect(await read(JSON.stringify(long), json)).toEqual({ value: long, duplicates: [] });
    expect(shares).toBe(2);
    await expect(read(`${" ".repeat(70_000)}{"a":}`, json)).rejects.toThrow("line 1, column 70006: ");
    const broken = Buffer.concat([Buffer.alloc(70_000, 0x20), Buffer.from([0xff])]);
    await expect(read(broken, json)).rejects.toThrow("invalid UTF-8 at byte 70000");
    expect(await read('{"a":1}', json)).toEqual({ value: { a: 1 }, duplicates: [] });
    expect(shares).toBe(5);
  });

  test("of a hundred thousand levels is refused, too, and not by the end of the stack", () => {
    expect(() => decodeJson(Buffer.from("[".repeat(100_000)), 200)).toThrow(expect.objectContaining({ code: 400 }));
  });
});

describe("YAML", () => {
  test("is read by the rules of Kubernetes' own reader", async () => {
    expect((await read("a: yes\nb: 0755\nc: 'no'\non: 1\n", yaml)).value).toEqual({
      a: true,
      b: 493,
      c: "no",
      true: 1,
    });
  });

  test("tells of keys that are there twice, and takes their last values, as JSON does", async () => {
    const wanted = { value: { a: { b: 2 }, l: [{ c: "z" }] }, duplicates: ["a.b", "l[0].c"] };
    expect(await read("a: {b: 1, b: 2}\nl: [{c: x, c: z}]\n", yaml)).toEqual(wanted);
    expect(await read('{"a": {"b": 1, "b": 2}, "l": [{"c": "x", "c": "z"}]}')).toEqual(wanted);
  });

  test("of nothing is nothing", async () => {
    expect((await read("", yaml)).value ?? undefined).toBeUndefined();
    expect((await read("# only a comment\n", yaml)).value ?? undefined).toBeUndefined();
  });

  test.each<[string, string | Buffer, string]>([
    ["two documents", "a: 1\n---\nb: 2\n", "holds more than one YAML document"],
    ["a list that never ends", "a: [1, 2", "cannot be read as YAML"],
    ["bytes that are no UTF-8", Buffer.from([0x61, 0x3a, 0x20, 0xff, 0x0a]), "cannot be read as YAML: it is no UTF-8"],
  ])("%s is refused", (_what, text, message) => {
    return expect(read(text, yaml)).rejects.toMatchObject({ code: 400, message: expect.stringContaining(message) });
  });

  test("a bomb of aliases is refused within the budget of the reader", () => {
    const levels = Array.from(
      { length: 12 },
      (_, at) => `l${at + 1}: &l${at + 1} [${Array.from({ length: 10 }, () => `*l${at}`).join(",")}]`,
    );
    return expect(read(`l0: &l0 [x]\n${levels.join("\n")}\n`, yaml)).rejects.toMatchObject({ code: 400 });
  });
});

describe("a document for apply", () => {
  test.each([
    ['{"a":1}', { a: 1 }],
    ['  \n {"a":1}', { a: 1 }],
    ["a: 1\n", { a: 1 }],
    ["{ a: 1 }", { a: 1 }],
    ["- 1\n", [1]],
  ])("%j is read as what it looks like", async (text, value) => {
    expect((await decodeApplied(bodyOf(text), readers)).value).toEqual(value);
  });

  test("of JSON is refused in JSON's words", async () => {
    await expect(decodeApplied(bodyOf('{"a":'), readers)).rejects.toThrow(/as JSON: line 1/);
    await expect(decodeApplied(bodyOf("a: [\n"), readers)).rejects.toThrow(/as YAML/);
  });
});
