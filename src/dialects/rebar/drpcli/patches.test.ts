import { expect, test } from "vitest";
import { merged, patchBetween, withoutTasks, withTasks } from "./patches.ts";

test("13 replacements and removals are tested before", () => {
  expect(patchBetween({ a: 1, "b/c": [1], same: {} }, { a: 2, new: true, same: {} })).toEqual([
    { op: "test", path: "/a", value: 1 },
    { op: "replace", path: "/a", value: 2 },
    { op: "test", path: "/b~1c", value: [1] },
    { op: "remove", path: "/b~1c" },
    { op: "add", path: "/new", value: true },
  ]);
});

test("13 updates merge maps and replace everything else", () => {
  expect(merged({ Params: { a: 1, b: 2 }, Tasks: ["x"] }, { Params: { b: null, c: 3 }, Tasks: [] })).toEqual({
    Params: { a: 1, c: 3 },
    Tasks: [],
  });
});

const machine = { Tasks: ["stage:a", "t1", "t2", "t3", "stage:b", "t4"], CurrentTask: 1 };

test("13 tasks are added to the present part of the list, once", () => {
  expect(withTasks(machine, ["n"], undefined)["Tasks"]).toEqual(["stage:a", "t1", "t2", "t3", "n", "stage:b", "t4"]);
  expect(withTasks(machine, ["n", "m"], 0)["Tasks"]).toEqual(["stage:a", "t1", "n", "m", "t2", "t3", "stage:b", "t4"]);
  expect(withTasks(machine, ["n"], 99)["Tasks"]).toEqual(["stage:a", "t1", "t2", "t3", "n", "stage:b", "t4"]);
  expect(withTasks(machine, ["t2"], 0)).toBe(machine);
  expect(withTasks({ Tasks: [], CurrentTask: -1 }, ["n"], undefined)["Tasks"]).toEqual(["n"]);
});

test("13 tasks are removed from the present part only", () => {
  expect(withoutTasks(machine, ["t2"])["Tasks"]).toEqual(["stage:a", "t1", "t3", "stage:b", "t4"]);
  expect(withoutTasks(machine, ["t1", "t4"])["Tasks"]).toEqual(machine.Tasks);
});
