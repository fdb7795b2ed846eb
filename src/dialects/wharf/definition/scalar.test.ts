import { describe, expect, test } from "vitest";
import { codesOf, prepared, told } from "../testing/prepared.ts";
import { resolvePlain, resolveTagged } from "./scalar.ts";

describe("plain scalars", () => {
  test.each([
    ["boolean", "true True TRUE false False FALSE"],
    ["string", "yes no on off y n Yes tRUE nULL 1.2.3 0o9 0x 08:15 _1 + - . e3 2020-13-01 2020-02-30 2020-1"],
    ["null", "~ null Null NULL"],
    ["integer", "0 12 -12 +12 1_000 0b101 0o14 0x1F -0x1f 014 18446744073709551615"],
    ["float", "1.5 1e3 .5 1. -1.5E-3 .inf -.inf +.INF .nan 08 019 18446744073709551616"],
    ["timestamp", "2020-01-01 2020-1-2 2020-01-01T10:00:00Z 2020-01-01t1:2:3.5+01:00"],
    ["merge", "<<"],
  ] as const)("%s: %s", (tag, words) => {
    expect(words.split(" ").map((word) => [word, resolvePlain(word).tag])).toEqual(
      words.split(" ").map((word) => [word, tag]),
    );
  });

  test("an empty one is null, and a time may be separated by blanks", () => {
    expect(resolvePlain("").tag).toBe("null");
    expect(resolvePlain("2020-01-01  10:00:00.5").tag).toBe("timestamp");
  });

  test.each([
    ["014", 12],
    ["0o14", 12],
    ["0x1F", 31],
    ["-0b11", -3],
    ["1_000", 1000],
    ["08", 8],
    ["1e3", 1000],
  ])("%s is %d", (text, value) => {
    expect(resolvePlain(text)).toMatchObject({ text, value });
  });
});

test("a tag wins over looks, and is refused where it does not fit", () => {
  expect(resolveTagged("tag:yaml.org,2002:str", "12")).toMatchObject({ tag: "string", value: "12" });
  expect(resolveTagged("tag:yaml.org,2002:int", "12")).toMatchObject({ tag: "integer", value: 12 });
  expect(resolveTagged("tag:yaml.org,2002:float", "12")).toMatchObject({ tag: "float", value: 12 });
  expect(resolveTagged("!own", "12")).toMatchObject({ tag: "string" });
  expect(resolveTagged("tag:yaml.org,2002:bool", "yes")).toBeUndefined();
});

/** Each row of the table of types as the image of a step. */
test.each([
  ["true", "boolean"],
  ["~", "null"],
  ["014", "integer"],
  ["1e3", "float"],
  ["2020-01-01", "timestamp"],
  ["<<", "merge key"],
])("image: %s is refused as %s", (text, type) => {
  expect(told(prepared(`a: {b: {container: {image: ${text}, cmds: [x]}}}\n`).diagnostics)).toEqual([
    `1:28 error[type] a/b/container/image: expected text, found ${type}`,
  ]);
});

test.each(["yes", "'014'", '"true"', "!!str 12", "1.2.3", "alpine:3"])("image: %s is a text", (text) => {
  expect(codesOf(`a: {b: {container: {image: ${text}, cmds: [x]}}}\n`)).toEqual([]);
});
