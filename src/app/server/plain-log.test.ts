import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { type LogLevel, plainLog } from "./plain-log.ts";

let written: string;
const write = process.stderr.write.bind(process.stderr);
beforeEach(() => {
  written = "";
  process.stderr.write = (text: string | Uint8Array) => {
    written += String(text);
    return true;
  };
});
afterEach(() => {
  process.stderr.write = write;
});

const at = "2026-01-01T00:00:00.000Z";

test.each<[LogLevel, readonly string[]]>([
  ["error", ["error"]],
  ["warn", ["error", "warn"]],
  ["info", ["error", "warn", "info"]],
  ["debug", ["error", "warn", "info", "debug"]],
])("at %s these levels are written: %j", (level, expected) => {
  const log = plainLog(level, new FakeClock());
  for (const each of ["error", "warn", "info", "debug"] as const) log[each](each);
  expect(
    written
      .split("\n")
      .filter(Boolean)
      .map((line) => line.split(/ +/)[1]),
  ).toEqual(expected);
});

test.each<[unknown, string]>([
  ["a/b.c:1@x-y_z", "a/b.c:1@x-y_z"],
  ["two words", '"two words"'],
  ["a\nb", '"a\\nb"'],
  ["", '""'],
  [7, "7"],
  [null, "null"],
  [undefined, "undefined"],
  [{ kind: "Pod", name: "p" }, '{"kind":"Pod","name":"p"}'],
])("the value %j is one word of one line", (value, text) => {
  plainLog("info", new FakeClock()).info("seen", { value });
  expect(written).toBe(`${at} info  seen value=${text}\n`);
});

test("an error comes with its stack, on one line", () => {
  plainLog("info", new FakeClock()).error("failed", { error: new Error("no\nway") });
  expect(written).toMatch(/ error failed error="Error: no\\nway\\n +at /);
  expect(written.trimEnd()).not.toContain("\n");
});

test("fields of a part are on each of its lines, later ones win", () => {
  const log = plainLog("info", new FakeClock()).with({ part: "store", n: 1 }).with({ n: 2 });
  log.info("a");
  log.info("b", { n: 3 });
  expect(written).toBe(`${at} info  a part=store n=2\n${at} info  b part=store n=3\n`);
});
