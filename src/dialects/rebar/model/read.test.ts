import { describe, expect, test } from "vitest";
import { isCollection } from "../kinds.ts";
import { collections, keyOf, readObject } from "./read.ts";

const messages = (read: ReturnType<typeof readObject>): readonly string[] => (read.ok ? [] : read.error.Messages);

test("lists and maps are never null, and unset times, texts and numbers have one form", () => {
  for (const collection of collections) {
    const read = readObject(collection, {});
    expect(JSON.stringify(read)).not.toContain("null");
    expect(read).toMatchObject({ ok: true, value: { Bundle: "BackingStore", Meta: {}, Errors: [], Validated: true } });
  }
  expect(readObject("jobs", { StartTime: null })).toMatchObject({ value: { StartTime: "0001-01-01T00:00:00Z" } });
});

describe("names of fields", () => {
  test("match exactly first, then in any case, at every level; unknown ones are dropped", () => {
    const sent = { name: "x", NAME: "y", Name: "z", templates: [{ path: "/p", Nonsense: 1 }], OutputParams: [1] };
    const read = readObject("tasks", sent);
    expect(read).toMatchObject({ ok: true, value: { Name: "z", Templates: [{ Name: "", Path: "/p", Meta: {} }] } });
    expect(read.ok && Object.keys(read.value)).not.toContain("OutputParams");
  });

  test("that JavaScript knows are names like all others", () => {
    const sent: unknown = JSON.parse('{"Name":"x","Params":{"__proto__":{"a":1},"constructor":2},"__proto__":{"x":1}}');
    const read = readObject("profiles", sent as never);
    expect(read.ok && Object.keys(read.value.Params)).toEqual(["__proto__", "constructor"]);
  });
});

test("every value of another type is named with its place", () => {
  const sent = { Runnable: "yes", Tasks: ["a", 1], Meta: { a: [] }, CurrentTask: 1.5, Fingerprint: [], Profiles: "x" };
  const read = readObject("machines", sent);
  expect(read).toMatchObject({ ok: false, error: { Code: 400, Model: "machines", Type: "" } });
  expect(messages(read)).toEqual([
    "Meta.a: expected a string, found a list",
    "Profiles: expected a list, found a string",
    "Tasks[1]: expected a string, found a number",
    "CurrentTask: expected an integer, found a number",
    "Runnable: expected a boolean, found a string",
    "Fingerprint: expected a map, found a list",
  ]);
  expect(messages(readObject("tasks", []))).toEqual(["expected a map, found a list"]);
});

test("what clients cannot change stays as it was", () => {
  const old = readObject("machines", { Uuid: "A", Secret: "s", Name: "x" });
  if (!old.ok) return expect.fail();
  const kept = { ...old.value, ReadOnly: true, Bundle: "b", Available: false, Errors: ["e"], CurrentJob: "j" };
  expect(readObject("machines", { Uuid: "c", Pool: "p", Available: true, Partial: true }, kept)).toMatchObject({
    value: {
      Uuid: "a",
      Secret: "s",
      Name: "",
      Pool: "default",
      ReadOnly: true,
      Bundle: "b",
      Errors: ["e"],
      CurrentJob: "j",
      Partial: false,
    },
  });
  expect(readObject("machines", { Secret: "other" }, kept)).toMatchObject({ value: { Secret: "other" } });
});

test("tasks have sane exit codes unless they say otherwise, and stages wait for the runner", () => {
  const flags = (text: string) => readObject("tasks", { Meta: { "feature-flags": text } });
  expect(flags("b, a")).toMatchObject({ value: { Meta: { "feature-flags": "a,b,sane-exit-codes" } } });
  expect(flags("original-exit-codes")).toMatchObject({ value: { Meta: { "feature-flags": "original-exit-codes" } } });
  expect(readObject("stages", { RunnerWait: false })).toMatchObject({ value: { RunnerWait: true } });
});

test("labels may be booleans and numbers, as in YAML", () => {
  const Meta = { clipboard: true, order: 10, icon: null };
  expect(readObject("params", { Meta })).toMatchObject({
    value: { Meta: { clipboard: "true", order: "10", icon: "" } },
  });
});

test("numbers and null in params stay what they are", () => {
  const Params = { a: 1e21, b: null, c: [{ d: 0.1 }] };
  expect(readObject("profiles", { Params })).toMatchObject({ value: { Params } });
});

test("keys are UUIDs of machines and jobs, IDs of templates, names of all others", () => {
  const key = (collection: "machines" | "templates" | "tasks", sent: Record<string, string>): string => {
    const read = readObject(collection, sent);
    return read.ok ? keyOf(collection, read.value) : "";
  };
  expect(key("machines", { Uuid: "u", Name: "n" })).toBe("u");
  expect(key("templates", { ID: "i" })).toBe("i");
  expect(key("tasks", { Name: "n" })).toBe("n");
  expect([isCollection("machines"), isCollection("toString")]).toEqual([true, false]);
});
