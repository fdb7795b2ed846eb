import { describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import type { Collection } from "../objects.ts";
import { MemoryWorld } from "../testing/memory-world.ts";
import { isIpv4, isMac } from "./names.ts";
import { readObject } from "./read.ts";
import { syntaxErrors } from "./syntax.ts";

function errorsOf(collection: Collection, sent: JsonObject, world = new MemoryWorld()): readonly string[] {
  const read = readObject(collection, sent);
  return read.ok ? syntaxErrors(collection, read.value, world) : read.error.Messages;
}

test("names start with a letter, have two characters, and only some others", () => {
  for (const name of ["ab", "Äb", "a b", "a-b_c.d", "é1"]) expect(errorsOf("tasks", { Name: name })).toEqual([]);
  for (const name of ["", "a", "1a", "a/b", "-a", " ab", "a\nb", "ab@c"]) {
    expect(errorsOf("contexts", { Name: name })).toEqual([`Invalid Name \`${name}\``]);
  }
  expect(errorsOf("users", { Name: "ab@example.com" })).toEqual([]);
  expect(errorsOf("params", { Name: "a/b.c" })).toEqual([]);
  expect(errorsOf("templates", { ID: "1a.tmpl" })).toEqual([]);
  expect(errorsOf("templates", { ID: "a/b" })).toEqual(["Invalid ID `a/b`"]);
});

describe("a machine", () => {
  const machine = { Uuid: "00000000-0000-4000-8000-000000000001", Name: "1m" };

  test("has a known architecture; other names of one are answered with a hint", () => {
    expect(errorsOf("machines", { ...machine, Arch: "x86_64" })).toEqual([
      "Please use amd64 for Arch instead of x86_64",
    ]);
    expect(errorsOf("machines", { ...machine, Arch: "vax" })).toEqual(["Unsupported arch vax"]);
  });

  test("has hardware addresses, an IPv4 address and a UUID", () => {
    expect(errorsOf("machines", { ...machine, HardwareAddrs: ["52:54:00:12:34:56", "x"], Address: "::1" })).toEqual([
      "Invalid Address `::1`: expected an IPv4 address",
      "Invalid Hardware Address `x`",
    ]);
    expect(errorsOf("machines", { Name: "m1", Uuid: "x" })).toEqual(["Invalid Uuid `x`"]);
    expect(["5254.0012.3456", "52-54-00-12-34-56", "52:54-00:12:34:56", "52:54:00:12:34"].map(isMac)).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect(["0.0.0.0", "255.1.2.3", "1.2.3", "1.2.3.4.", "01.2.3.4"].map(isIpv4)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });

  test("14 param value against its schema, in machine body", () => {
    const world = new MemoryWorld({ params: [{ Name: "count", Schema: { type: "integer" } }] });
    expect(errorsOf("machines", { ...machine, Params: { count: "many", free: [1] } }, world)).toEqual([
      "Key 'count': invalid val 'many': must be integer",
    ]);
  });

  test("may have any action, a stage only one with its plugin", () => {
    const Tasks = ["action:on", "action:power:on", "context:", "chroot:/x"];
    expect(errorsOf("machines", { ...machine, Tasks })).toEqual([]);
    expect(errorsOf("stages", { Name: "st", Tasks })).toEqual(["Invalid action specifier on"]);
  });
});

describe("templates", () => {
  const task = (...Templates: readonly JsonObject[]): readonly string[] => errorsOf("tasks", { Name: "tt", Templates });

  test("14 task: both ID and Contents; mixed OS metadata", () => {
    expect(task({ Name: "a", ID: "x", Contents: "y" })).toEqual(["Template[0] has both an ID and Contents"]);
    const mixed = task({ Name: "a", Contents: "x", Meta: { OS: "linux, esxi" } }, { Name: "b", Contents: "x" });
    expect(mixed).toEqual(["Cannot mix templates with OS metadata and templates without OS metadata"]);
  });

  test("have a name of their own, a source, and a path outside of tasks", () => {
    expect(task({ Contents: "x" }, { Name: "a" }, { Name: "a", ID: "i", Meta: { OS: "beos" } })).toEqual([
      "Template[0] is missing a Name",
      "Template[1] must have either an ID, a Link, or Contents set",
      "Template 1 and 2 have the same name a",
      expect.stringContaining("Template[2]: Invalid OS value beos"),
      "Cannot mix templates with OS metadata and templates without OS metadata",
    ]);
    expect(errorsOf("bootenvs", { Name: "be", Templates: [{ Name: "a", ID: "i" }], Loaders: { vax: "x" } })).toEqual([
      "Template[0] is missing a Path",
      "vax is not a supported loader type",
    ]);
  });
});

describe("15.30 prerequisites", () => {
  const world = new MemoryWorld({
    tasks: [
      { Name: "aa", Prerequisites: ["bb"] },
      { Name: "bb", Prerequisites: ["cc"] },
      { Name: "cc" },
      { Name: "xx", Prerequisites: ["yy"] },
      { Name: "yy", Prerequisites: ["xx"] },
    ],
  });

  test("are there", () => {
    expect(errorsOf("tasks", { Name: "dd", Prerequisites: ["aa", "nope"] }, world)).toEqual([
      "Task dd missing prerequisite nope",
    ]);
  });

  test("have no cycles", () => {
    expect(errorsOf("tasks", { Name: "cc", Prerequisites: ["aa"] }, world)).toEqual(["Task cc depends on itself!"]);
    expect(errorsOf("tasks", { Name: "ee", Prerequisites: ["ee"] }, world)).toEqual(["Task ee depends on itself!"]);
    expect(errorsOf("tasks", { Name: "dd", Prerequisites: ["xx"] }, world)).toEqual([
      "Task dd depends on a task with a circular dependency",
    ]);
    expect(errorsOf("tasks", { Name: "dd", Prerequisites: ["aa", "bb", "cc"] }, world)).toEqual([]);
  });

  test("may be a long chain", () => {
    const chain = Array.from({ length: 5_000 }, (_, index) => ({
      Name: `t${index}`,
      Prerequisites: [`t${index + 1}`],
    }));
    const long = new MemoryWorld({ tasks: [...chain, { Name: "t5000" }] });
    expect(errorsOf("tasks", { Name: "first", Prerequisites: ["t0"] }, long)).toEqual([]);
  });
});

test("14 create Param whose default violates its schema, or with type `bogus`", () => {
  const param = (Schema: JsonObject): readonly string[] => errorsOf("params", { Name: "pp", Schema });
  expect(param({ type: "string", default: 1 })).toEqual(["Error in default value: must be string"]);
  expect(param({ type: "bogus" })).toEqual(["Invalid Schema: schema/type must be equal to one of the allowed values"]);
  expect(param({ type: "string", default: "x" })).toEqual([]);
});
