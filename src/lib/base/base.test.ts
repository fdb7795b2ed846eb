import { expect, test } from "vitest";
import {
  codeOf,
  formatProblem,
  hasErrors,
  messageOf,
  type Problem,
  silentLog,
  SlipwayError,
  toError,
} from "./index.ts";
import { hashName, newUid } from "./index.node.ts";

test("names hashed from different parts differ even when their texts join alike", () => {
  expect(hashName(["ab", "c"], 10)).not.toBe(hashName(["a", "bc"], 10));
  expect(hashName(["1"], 10)).not.toBe(hashName([1], 10));
  expect(hashName([], 10)).not.toBe(hashName([""], 10));
});

// Names of children are stored: what is hashed today must be found tomorrow. Computed with `sha256sum` and `base32`.
test.each<readonly [readonly (string | number)[], string]>([
  [["x"], "zvs6ulbk3gpjjkc3dnw7olx67hfs5ufosm5gbqzm4frrp56x22v"],
  [["run", "build", 1], "hejfoebru3c2ppv242eyzoxsugejgaijrpmzm3vwewrdms4thfa"],
])("the name of %j does not change", (parts, name) => {
  expect(hashName(parts, 51)).toBe(name);
});

test("a uid is a random UUID", () => {
  expect(newUid()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(newUid()).not.toBe(newUid());
});

const problem: Problem = { severity: "error", code: "x", path: "spec", message: "is missing" };

test.each<readonly [Problem, string]>([
  [
    { ...problem, position: { file: "w.yaml", line: 3, column: 5 }, hint: "add it" },
    "w.yaml:3:5: error: spec: is missing (add it)",
  ],
  [{ ...problem, position: { line: 3, column: 5 } }, "-:3:5: error: spec: is missing"],
  [{ ...problem, severity: "warning" }, "warning: spec: is missing"],
  [{ ...problem, path: "" }, "error: is missing"],
])("a problem is one line of what is known: %j", (given, line) => {
  expect(formatProblem(given)).toBe(line);
});

test("only errors forbid to use a document", () => {
  expect(hasErrors([])).toBe(false);
  expect(hasErrors([{ ...problem, severity: "warning" }])).toBe(false);
  expect(hasErrors([{ ...problem, severity: "warning" }, problem])).toBe(true);
});

test("an error of the world keeps its code, its hint and its cause", () => {
  const cause = new Error("ENOSPC");
  const error = new SlipwayError("store-full", "the disk is full", { hint: "free some space", cause });
  expect(error).toMatchObject({ name: "SlipwayError", code: "store-full", hint: "free some space", cause });
  expect(error.message).toBe("the disk is full");
  expect("cause" in new SlipwayError("x", "y")).toBe(false);
});

test.each<readonly [string, unknown, string, string | undefined]>([
  ["an error", new Error("bad"), "bad", undefined],
  ["a system error", Object.assign(new Error("no entry"), { code: "ENOENT" }), "no entry", "ENOENT"],
  ["one of ours", new SlipwayError("store-full", "full"), "full", "store-full"],
  ["a text", "bad", "bad", undefined],
  ["nothing", undefined, "undefined", undefined],
  ["null", null, "null", undefined],
  ["an object with a numeric code", { code: 7 }, "[object Object]", undefined],
])("whatever is thrown has a message, and a code if it carries one: %s", (_, thrown, message, code) => {
  expect(messageOf(thrown)).toBe(message);
  expect(toError(thrown)).toBeInstanceOf(Error);
  expect(codeOf(thrown)).toBe(code);
});

test("an error is not wrapped again", () => {
  const error = new Error("x");
  expect(toError(error)).toBe(error);
});

test("the silent logger stays silent with fields", () => {
  expect(silentLog.with({ a: 1 })).toBe(silentLog);
});
