import fc from "fast-check";
import { expect, test } from "vitest";
import type { TaskState, TaskStatus } from "./contract.ts";
import { TaskMirror } from "./task-mirror.ts";

const states: Readonly<Record<TaskState["phase"], TaskState>> = {
  starting: { phase: "starting" },
  running: { phase: "running", startedAt: 1 },
  ended: { phase: "ended", outcome: { kind: "exited", code: 0, startedAt: 1, finishedAt: 2 } },
};

test("news are told after they can be found", () => {
  const mirror = new TaskMirror();
  const found: unknown[] = [];
  mirror.subscribe(({ id }) => found.push(mirror.find(id)));
  mirror.put({ id: "a", state: states.running });
  expect(found).toEqual([{ id: "a", state: states.running }]);
});

test("a task that was forgotten may begin anew", () => {
  const mirror = new TaskMirror();
  const told: string[] = [];
  mirror.subscribe(({ state }) => told.push(state.phase));
  mirror.put({ id: "a", state: states.ended });
  mirror.remove(["a", "nobody"]);
  expect(mirror.find("a")).toBeUndefined();
  mirror.put({ id: "a", state: states.running });
  expect(told).toEqual(["ended", "running"]);
});

test("tasks of one owner are found without a look at the others", () => {
  const mirror = new TaskMirror();
  for (const id of ["pod/a/0", "pod/b/0", "other/a/0"]) mirror.put({ id, state: states.ended });
  const idsOf = (owner: string) => mirror.list(owner).map(({ id }) => id);
  expect(idsOf("pod")).toEqual(["pod/a/0", "pod/b/0"]);
  mirror.remove(["pod/a/0"]);
  expect([idsOf("pod"), idsOf("other"), idsOf("nobody")]).toEqual([["pod/b/0"], ["other/a/0"], []]);
});

test("a listener that leaves while it is told keeps nobody from hearing", () => {
  const mirror = new TaskMirror();
  const told: string[] = [];
  const cancel = mirror.subscribe(() => {
    told.push("first");
    cancel();
  });
  mirror.subscribe(() => told.push("second"));
  mirror.put({ id: "a", state: states.running });
  mirror.put({ id: "a", state: states.ended });
  expect(told).toEqual(["first", "second", "second"]);
});

test("however often and late news come: each task's story goes forward, is told once, and ends for ever", () => {
  const status = fc.record({
    id: fc.constantFrom("a", "b"),
    phase: fc.constantFrom<TaskState["phase"]>("running", "ended"),
  });
  fc.assert(
    fc.property(fc.array(status, { maxLength: 12 }), (news) => {
      const mirror = new TaskMirror();
      const told: TaskStatus[] = [];
      mirror.subscribe((one) => told.push(one));
      for (const { id, phase } of news) mirror.put({ id, state: states[phase] });
      for (const id of ["a", "b"]) {
        const phases = news.filter((one) => one.id === id).map(({ phase }) => phase);
        const story = told.filter((one) => one.id === id).map(({ state }) => state.phase);
        const end = phases.indexOf("ended");
        const ran = end < 0 ? phases.length > 0 : end > 0;
        expect(story).toEqual([...(ran ? ["running"] : []), ...(end < 0 ? [] : ["ended"])]);
        expect(mirror.find(id)?.state.phase).toBe(story.at(-1));
      }
      expect(mirror.list()).toHaveLength(new Set(news.map(({ id }) => id)).size);
    }),
    { numRuns: 200 },
  );
});
