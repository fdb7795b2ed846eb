import fc from "fast-check";
import { expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { runs } from "#test/support/property-runs.ts";
import type { Task, TaskOutcome, TaskStatus } from "../../contract.ts";
import { FakeJournal, FakeProcesses } from "../../testing/index.ts";
import { TaskTable } from "./task-table.ts";

const ids = ["a", "b", "c"] as const;

type Action =
  | { readonly do: "start" | "exit" | "stop" | "remove"; readonly id: (typeof ids)[number] }
  | { readonly do: "flush"; readonly count: number }
  | { readonly do: "crash"; readonly isAdopting: boolean }
  | { readonly do: "wait"; readonly time: number };

const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom("start" as const, "start" as const, "exit" as const, "stop" as const, "remove" as const),
      id: fc.constantFrom(...ids),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("flush" as const), count: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("crash" as const), isAdopting: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("wait" as const), time: fc.nat({ max: 3_000 }) }) },
);

/** A runner that is killed now and then, with a disk that is slow; what was not flushed is gone. */
class World {
  readonly clock = new FakeClock(0);
  readonly processes = new FakeProcesses();
  /** What an owner was told of each task since it was last removed. */
  readonly told = new Map<string, TaskStatus[]>();
  /** How often each task was spawned before it was last removed. */
  readonly spawnedBefore = new Map<string, number>();
  journal = new FakeJournal();
  table!: TaskTable;

  async open(isAdopting = false): Promise<void> {
    const { last } = this.journal;
    this.journal = new FakeJournal();
    // The journal that is opened holds what was durable.
    this.journal.durable.push(...last);
    const options = {
      clock: this.clock,
      spawn: this.processes.spawn,
      onChange: (status: TaskStatus) => this.#note(status),
      onTrouble: () => undefined,
    };
    const adopt = isAdopting ? { adopt: this.processes.adopt } : {};
    this.table = await TaskTable.open(options, { journal: this.journal, last, ...adopt });
    this.journal.slow();
  }

  async act(step: Action): Promise<void> {
    switch (step.do) {
      case "start":
        void this.table.start(task(step.id)).catch(() => undefined);
        break;
      case "exit":
        this.processes.exit(step.id, 0);
        break;
      case "stop":
        this.table.stop(step.id, 1_000);
        break;
      case "remove":
        await this.#remove(step.id);
        break;
      case "flush":
        this.journal.flush(step.count);
        break;
      case "wait":
        await this.clock.advance(step.time);
        break;
      case "crash":
        await this.open(step.isAdopting);
    }
    await this.clock.advance(0);
  }

  async #remove(id: string): Promise<void> {
    if (this.table.list().find((one) => one.id === id)?.state.phase !== "ended") return;
    const removed = this.table.remove([id]);
    this.journal.flush();
    await removed;
    this.told.delete(id);
    this.spawnedBefore.set(id, this.spawns(id));
  }

  spawns(id: string): number {
    return this.processes.spawned.filter((one) => one === id).length;
  }

  #note(status: TaskStatus): void {
    this.told.set(status.id, [...(this.told.get(status.id) ?? []), status]);
  }
}

const task = (id: string): Task => ({ id, command: ["run"], env: {}, workingDirectory: "/", logPath: "/dev/null" });
const outcomeOf = ({ state }: TaskStatus): TaskOutcome | undefined =>
  state.phase === "ended" ? state.outcome : undefined;

test("whenever the runner is killed: nothing runs twice, what was told stays true, and everything gets an end", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 40 }), async (actions) => {
      const world = new World();
      await world.open();
      for (const step of actions) {
        await world.act(step);
        for (const id of ids) {
          expect(world.spawns(id) - (world.spawnedBefore.get(id) ?? 0)).toBeLessThanOrEqual(1);
        }
      }
      await world.open();
      expect(world.table.active).toBe(0);
      for (const [id, statuses] of world.told) {
        const found = world.table.list().find((one) => one.id === id);
        // Whoever heard of a task hears of it again, and of the same end if it was told one.
        expect(found?.state.phase).toBe("ended");
        const ends = statuses.map(outcomeOf).filter((outcome) => outcome !== undefined);
        for (const end of ends) expect(found === undefined ? undefined : outcomeOf(found)).toEqual(end);
        expect(ends.length).toBeLessThanOrEqual(1);
      }
    }),
    { numRuns: runs(120) },
  );
});
