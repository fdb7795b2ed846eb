import { expect, test } from "vitest";
import { globalFlags, parseArguments } from "./arguments.ts";

const flags = [...globalFlags, { name: "aggregate", summary: "" }, { name: "limit", value: "n", summary: "" }];
const parsed = (...words: readonly string[]) => {
  const read = parseArguments(words, flags);
  return read.ok ? { words: read.value.words, ...Object.fromEntries(read.value.flags) } : read.error;
};

test("flags may stand anywhere, in short and long forms", () => {
  expect(parsed("-T", "tok", "profiles", "get", "p", "param", "k", "--aggregate")).toEqual({
    words: ["profiles", "get", "p", "param", "k"],
    token: "tok",
    aggregate: true,
  });
  expect(parsed("-Ttok", "-xf", "list", "--limit=3", "-E=https://a:1")).toEqual({
    words: ["list"],
    token: "tok",
    "no-token": true,
    force: true,
    limit: "3",
    endpoint: "https://a:1",
  });
});

test("a single hyphen is a word, and after -- everything is", () => {
  expect(parsed("update", "k", "-", "--", "--force")).toEqual({ words: ["update", "k", "-", "--force"] });
});

test("older spellings count, and false is no", () => {
  expect(parsed("--noToken", "--force=false")).toEqual({ words: [], "no-token": true });
});

test("unknown flags and missing values are refused in the original's words", () => {
  expect(parsed("--bogus")).toBe("unknown flag: --bogus");
  expect(parsed("-fq")).toBe("unknown shorthand flag: 'q' in -fq");
  expect(parsed("list", "--limit")).toBe("flag needs an argument: --limit");
});
