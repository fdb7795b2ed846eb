import { describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import type { Collection } from "../objects.ts";
import { MemoryWorld } from "../testing/memory-world.ts";
import { availability } from "./availability.ts";
import { dependants, inUse } from "./dependants.ts";

const world = (): MemoryWorld =>
  new MemoryWorld({
    templates: [
      { ID: "inner.tmpl", Contents: "x" },
      { ID: "outer.tmpl", Contents: '{{template "inner.tmpl" .}}' },
      { ID: "other.tmpl", Contents: '"inner.tmpl"' },
    ],
    tasks: [
      { Name: "t1", Templates: [{ Name: "a", ID: "inner.tmpl" }] },
      { Name: "t2", Prerequisites: ["t1"], Templates: [{ Name: "a", Contents: '{{ template "outer.tmpl" . }}' }] },
      { Name: "t3", Templates: [{ Name: "a", ID: "other.tmpl" }] },
    ],
    profiles: [{ Name: "p1" }, { Name: "global" }],
    bootenvs: [{ Name: "b1" }],
    stages: [{ Name: "s1", BootEnv: "b1", Tasks: ["t1"], Profiles: ["p1"] }],
    workflows: [{ Name: "w1", Stages: ["s1"] }],
    machines: [
      {
        Uuid: "00000000-0000-4000-8000-000000000001",
        Name: "m1",
        Workflow: "w1",
        Stage: "s1",
        BootEnv: "b1",
        Profiles: ["p1"],
        Tasks: ["stage:s1", "bootenv:b1", "t1"],
      },
    ],
  });

const errorsOf = (collection: Collection, sent: JsonObject): readonly string[] => {
  const made = world();
  const { Available, Errors } = availability(collection, made.send(collection, sent), made);
  expect(Available).toBe(Errors.length === 0);
  return Errors;
};

describe("an object is not available", () => {
  test("14 stage with unknown task or bootenv; workflow with unknown stage", () => {
    expect(errorsOf("stages", { Name: "s2", BootEnv: "bx", Tasks: ["t1", "tx"], Profiles: ["px"] })).toEqual([
      "BootEnv bx does not exist",
      "Task tx (at 1) does not exist",
      "Profile px (at 0) does not exist",
    ]);
    expect(errorsOf("workflows", { Name: "w2", Stages: ["s1", "sx", "s1"] })).toEqual([
      "Stage sx (at 1) does not exist",
    ]);
  });

  test("when what it refers to is not", () => {
    const made = world();
    const stage = made.send("stages", { Name: "s1", Tasks: ["tx"] });
    made.put("stages", { ...stage, Available: false });
    expect(availability("workflows", made.send("workflows", { Name: "w1", Stages: ["s1"] }), made)).toEqual({
      Available: false,
      Errors: ["Stage s1 (at 0) is not available"],
    });
    const machine = made.all("machines")[0] ?? expect.fail("no machine");
    expect(availability("machines", machine, made).Errors).toEqual([
      "Stage s1 is not available",
      "Stage s1 (at 0) is not available",
    ]);
  });

  test("when machines boot it from the network and it has no system, or its kernel no loader", () => {
    expect(errorsOf("bootenvs", { Name: "b2", OnlyUnknown: true })).toHaveLength(1);
    expect(errorsOf("bootenvs", { Name: "b2", Kernel: "vmlinuz" })).toHaveLength(2);
    const os = { Name: "b2", Kernel: "vmlinuz", OS: { Name: "os" } };
    expect(errorsOf("bootenvs", { ...os, Templates: [{ Name: "ipxe", Path: "p", ID: "x" }] })).toEqual([]);
    expect(errorsOf("bootenvs", { ...os, Meta: { KernelIsLoader: "true" } })).toEqual([]);
    expect(errorsOf("bootenvs", { Name: "b2" })).toEqual([]);
  });
});

test("who is judged again when an object changes", () => {
  const made = world();
  const found = (collection: Collection, key: string): readonly string[] =>
    dependants(collection, key, made).map((one) => `${one.collection}:${one.key.replace(/^0.*-0*/, "")}`);
  expect(found("templates", "inner.tmpl")).toEqual(["tasks:t1", "tasks:t2"]);
  expect(found("tasks", "t1")).toEqual(["stages:s1", "machines:1"]);
  expect(found("bootenvs", "b1")).toEqual(["stages:s1", "machines:1"]);
  expect(found("profiles", "p1")).toEqual(["stages:s1", "machines:1"]);
  expect(found("stages", "s1")).toEqual(["workflows:w1", "machines:1"]);
  expect(found("workflows", "w1")).toEqual(["machines:1"]);
  expect(found("params", "p1")).toEqual([]);
});

test("14 delete stage/task/bootenv in use", () => {
  const made = world();
  expect(inUse("tasks", "t1", made)).toMatchObject({
    Code: 409,
    Type: "StillInUseError",
    Messages: ["Task t1 is in use by task t2", "Task t1 is in use by stage s1", "Task t1 is in use by machine m1"],
  });
  expect(inUse("stages", "s1", made)?.Messages).toEqual([
    "Stage s1 is in use by workflow w1",
    "Stage s1 is in use by machine m1",
  ]);
  expect(inUse("bootenvs", "ignore", made)?.Messages).toEqual([
    "BootEnv ignore is in use by preference unknownBootEnv",
  ]);
  expect(inUse("workflows", "w1", made)?.Code).toBe(409);
  expect(inUse("templates", "inner.tmpl", made)?.Messages).toHaveLength(2);
  expect(inUse("profiles", "p1", made)?.Code).toBe(422);
  expect(inUse("profiles", "global", made)?.Code).toBe(422);
  expect(inUse("tasks", "t3", made)).toBe(undefined);
  expect(inUse("machines", "x", made)).toBe(undefined);
});
