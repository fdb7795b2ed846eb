import { expect, test } from "vitest";
import { MemoryWorld } from "../testing/memory-world.ts";
import { contextAt, expandPrerequisites, restartIndex, tasksOfWorkflow } from "./task-list.ts";

const needs: Readonly<Record<string, string>> = {
  bar1: "foo1 foo2 foo3",
  bar2: "foo3 foo2 foo1",
  bar3: "foo4 foo5 foo6",
  bar4: "bar3 foo1 foo5 foo7",
};
const world = new MemoryWorld({
  tasks: ["foo1", "foo2", "foo3", "foo4", "foo5", "foo6", "foo7", "bar1", "bar2", "bar3", "bar4"].map((Name) => ({
    Name,
    Prerequisites: needs[Name]?.split(" ") ?? [],
  })),
});
const expanded = (list: string, from = 0, bootEnv = "local"): string =>
  expandPrerequisites(list.split(" "), world, { from, bootEnv }).join(" ");

test("15.30 tasks come after what they need, once", () => {
  expect(expanded("foo1 foo4 bar1 bar2 bar4 bar3")).toBe("foo1 foo4 foo2 foo3 bar1 bar2 foo5 foo6 bar3 foo7 bar4 bar3");
});

test("15.30 prerequisites repeat in another boot environment, not in another stage or the same one", () => {
  expect(expanded("bootenv:e1 bar3 stage:s2 bar3 bootenv:e1 bar3 bootenv:e2 bar3")).toBe(
    "bootenv:e1 foo4 foo5 foo6 bar3 stage:s2 bar3 bootenv:e1 bar3 bootenv:e2 foo4 foo5 foo6 bar3",
  );
});

test("what has run stays as it is, and counts", () => {
  expect(expanded("bar3 foo4 bar1", 2)).toBe("bar3 foo4 foo1 foo2 foo3 bar1");
});

test("a list that would explode stays as it is", () => {
  const explosive = new MemoryWorld({
    tasks: [
      { Name: "needy", Prerequisites: Array.from({ length: 9_000 }, (_, index) => `x${index}`) },
      ...Array.from({ length: 9_000 }, (_, index) => ({ Name: `x${index}` })),
    ],
  });
  const list = ["needy", "bootenv:e2", "needy"];
  expect(expandPrerequisites(list, explosive, { from: 0, bootEnv: "e1" })).toBe(list);
});

test("stages of a workflow that are not there count as empty", () => {
  expect(tasksOfWorkflow(world.send("workflows", { Name: "w1", Stages: ["nope"] }), world)).toEqual(["stage:nope"]);
});

test("15.15 a restart does not cross a stage in another boot environment", () => {
  const staged = new MemoryWorld({
    stages: ["e1", "e2", "", "e1"].map((BootEnv, index) => ({ Name: `s${index}`, BootEnv })),
  });
  const list = ["stage:s0", "stage:s1", "stage:s2", "stage:s3", "foo1"];
  expect(restartIndex(list, 4, "e1", staged)).toBe(3);
  expect(restartIndex(list, 2, "e2", staged)).toBe(1);
});

test("a restart and a context have no place in an empty list", () => {
  expect(restartIndex([], 3, "local", world)).toBe(-1);
  expect(contextAt([], -1, "base")).toBe("base");
  expect(contextAt(["context:a", "foo1", "context:"], 3, "base")).toBe("");
});
