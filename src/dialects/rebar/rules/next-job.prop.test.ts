import fc from "fast-check";
import { expect, test } from "vitest";
import type { Job } from "../objects.ts";
import { rounds } from "#test/support/rounds.ts";
import { MemoryWorld } from "../testing/memory-world.ts";
import { Scene } from "../testing/scene.ts";

const taskNames = ["t1", "t2", "t3"];
const stages = [
  { Name: "sa", BootEnv: "ea", Tasks: ["t1", "t2"] },
  { Name: "sb", BootEnv: "", Tasks: ["context:x", "t3", "context:"] },
  { Name: "sc", BootEnv: "eb", Tasks: ["t1"] },
  { Name: "sd", BootEnv: "ea", Tasks: [] },
];
const workflows = [
  { Name: "wa", Stages: ["sa", "sb", "sc"] },
  { Name: "wb", Stages: ["sd", "sb", "sa", "sc", "sd"] },
  { Name: "wc", Stages: ["sb", "sc", "sc"] },
];
const makeWorld = (): MemoryWorld =>
  new MemoryWorld({
    tasks: taskNames.map((Name) => ({ Name })),
    bootenvs: [{ Name: "ea" }, { Name: "eb" }],
    stages,
    workflows,
  });

type Step =
  | { readonly is: "post"; readonly context: string }
  | { readonly is: "job"; readonly state: Job["State"] }
  | { readonly is: "runnable" | "reset" }
  | { readonly is: "workflow"; readonly name: string };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom("", "", "x").map((context) => ({ is: "post" as const, context })) },
  {
    weight: 6,
    arbitrary: fc
      .constantFrom<Job["State"][]>("running", "finished", "finished", "failed", "incomplete")
      .map((state) => ({ is: "job" as const, state })),
  },
  { weight: 3, arbitrary: fc.constant({ is: "runnable" as const }) },
  { weight: 1, arbitrary: fc.constant({ is: "reset" as const }) },
  { weight: 1, arbitrary: fc.constantFrom("wa", "wb", "wc", "").map((name) => ({ is: "workflow" as const, name })) },
);
const entry = fc.constantFrom(
  "t1",
  "t2",
  "t3",
  "stage:sa",
  "stage:sb",
  "bootenv:ea",
  "bootenv:eb",
  "context:x",
  "context:",
);
const story = fc.record({
  tasks: fc.array(entry, { maxLength: 8 }),
  steps: fc.array(step, { minLength: 1, maxLength: 50 }),
});

interface SimpleJob {
  task: string;
  state: Job["State"];
  context: string;
  index: number;
  previous: number;
}

/** The seed's words, one after the other, on plain variables. Jobs are numbered. */
class Transcription {
  tasks: readonly string[];
  currentTask: number;
  stage = "none";
  bootEnv = "local";
  context = "";
  workflow = "";
  runnable = true;
  readonly jobs: SimpleJob[] = [];

  constructor(tasks: readonly string[]) {
    this.tasks = tasks;
    this.currentTask = tasks.length === 0 ? 0 : -1;
  }

  isChangeEntry(index: number): boolean {
    return ["stage", "bootenv", "context"].some((kind) => this.tasks[index]?.startsWith(`${kind}:`));
  }

  post(context: string): number {
    // 1
    if (!this.runnable) return 409;
    if (this.currentTask >= this.tasks.length || this.context !== context) return 204;
    // 2
    const current = this.jobs.at(-1);
    let state: Job["State"] = current?.state ?? "failed";
    // 3
    let nextTask = this.currentTask + 1;
    // 4, also for a job of another entry; a finished job is not rewritten, but counts as failed.
    if (this.currentTask === -1 || this.isChangeEntry(this.currentTask) || current?.index !== this.currentTask) {
      const isOtherContext = state === "created" && current?.context !== context;
      if (state !== "created" || isOtherContext) {
        if (current !== undefined && state !== "finished") current.state = "failed";
        state = "failed";
      }
    }
    if (state === "created" || state === "running") return 409;
    // 7
    if (state === "incomplete") return 202;
    // 5
    if (this.currentTask === -1) nextTask = this.currentTask = 0;
    if (state === "finished") this.currentTask = nextTask;
    // 6
    const before = [this.stage, this.bootEnv, this.context].join();
    const bootEnvBefore = this.bootEnv;
    while (this.isChangeEntry(this.currentTask)) {
      const [kind, name = ""] = this.tasks[this.currentTask]?.split(":") ?? [];
      if (kind === "stage") this.stage = name;
      if (kind === "bootenv") this.bootEnv = name;
      if (kind === "context") this.context = name;
      this.currentTask++;
    }
    if ([this.stage, this.bootEnv, this.context].join() !== before) {
      this.currentTask--;
      this.add(this.tasks[this.currentTask] ?? "", "finished", this.context);
      if (this.bootEnv !== bootEnvBefore) this.runnable = false;
      return 204;
    }
    const task = this.tasks[this.currentTask];
    if (task === undefined) return 204;
    // 8 and 10; 9 is about actions
    this.add(task, "created", context);
    return 201;
  }

  add(task: string, state: Job["State"], context: string): void {
    this.jobs.push({ task, state, context, index: this.currentTask, previous: this.jobs.length - 1 });
  }

  setWorkflow(name: string): void {
    if (name === this.workflow) return;
    this.workflow = name;
    this.context = "";
    this.currentTask = -1;
    this.tasks = [];
    if (name === "") {
      this.stage = "none";
      return;
    }
    const inIt = workflows.find((workflow) => workflow.Name === name)?.Stages ?? [];
    const found = inIt.map((one) => stages.find((stage) => stage.Name === one) ?? expect.fail(one));
    for (const stage of found) {
      this.tasks = [...this.tasks, `stage:${stage.Name}`];
      if (stage.BootEnv !== "") this.tasks = [...this.tasks, `bootenv:${stage.BootEnv}`];
      this.tasks = [...this.tasks, ...stage.Tasks];
    }
    const [first] = found;
    this.stage = first?.Name ?? this.stage;
    if (first === undefined || first.BootEnv === "") return;
    if (first.BootEnv !== this.bootEnv) this.runnable = false;
    this.bootEnv = first.BootEnv;
  }

  /** The most recent stage of which all stages up to here are in this boot environment. */
  reset(): void {
    if (this.currentTask === -1) return;
    let place = -1;
    if (this.workflow !== "") {
      const upTo = this.tasks.slice(0, this.currentTask + 1);
      for (const [index, text] of [...upTo.entries()].reverse()) {
        const stage = stages.find((one) => text === `stage:${one.Name}`);
        if (stage === undefined || stage.BootEnv === "") continue;
        if (stage.BootEnv !== this.bootEnv) break;
        place = index;
      }
    }
    this.currentTask = place;
    this.context = "";
    for (const text of this.tasks.slice(0, Math.max(0, place))) {
      if (text.startsWith("context:")) this.context = text.slice("context:".length);
    }
  }

  setJob(state: Job["State"]): void {
    const current = this.jobs.at(-1);
    if (current === undefined) return;
    if (current.state !== state && state === "failed") this.runnable = false;
    current.state = state;
  }
}

function tell(scene: Scene, model: Transcription, told: Step): void {
  switch (told.is) {
    case "post":
      expect(scene.postCode(told.context)).toBe(model.post(told.context));
      return;
    case "job":
      if (model.jobs.length > 0) expect(scene.patchJob({ State: told.state })).toBe(null);
      return model.setJob(told.state);
    case "runnable":
      expect(scene.patch({ Runnable: true })).toBe(null);
      model.runnable = true;
      return;
    case "reset":
      expect(scene.patch({ CurrentTask: -1 })).toBe(null);
      return model.reset();
    case "workflow":
      expect(scene.patch({ Workflow: told.name })).toBe(null);
      return model.setWorkflow(told.name);
  }
}

function chainOf(scene: Scene): readonly Job[] {
  const chain: Job[] = [];
  for (let job = scene.job; job !== undefined; job = scene.world.get("jobs", job.Previous)) chain.unshift(job);
  return chain;
}

test("machines and jobs move as the seed's ten steps say", () => {
  fc.assert(
    fc.property(story, ({ tasks, steps }) => {
      const scene = new Scene(makeWorld(), { Tasks: tasks });
      const model = new Transcription(tasks);
      for (const told of steps) {
        tell(scene, model, told);
        const { Tasks, CurrentTask, Stage, BootEnv, Context, Workflow, Runnable, WorkflowComplete } = scene.machine;
        expect({ Tasks, CurrentTask, Stage, BootEnv, Context, Workflow, Runnable }).toEqual({
          Tasks: model.tasks,
          CurrentTask: model.currentTask,
          Stage: model.stage,
          BootEnv: model.bootEnv,
          Context: model.context,
          Workflow: model.workflow,
          Runnable: model.runnable,
        });
        expect(WorkflowComplete).toBe(Tasks.length === 0 || CurrentTask >= Tasks.length);
        const chain = chainOf(scene);
        expect(chain.map((job) => [job.Task, job.State, job.Context, job.CurrentIndex])).toEqual(
          model.jobs.map((job) => [job.task, job.state, job.context, job.index]),
        );
        // Exactly one job is current, the last one.
        expect(scene.world.all("jobs").filter((job) => job.Current)).toEqual(chain.slice(-1));
      }
    }),
    { numRuns: rounds(150, 6_000) },
  );
});

test("an agent that always succeeds runs every task of the list once, in order, in its stage and context", () => {
  const list = fc.array(entry, { maxLength: 30 });
  fc.assert(
    fc.property(list, (tasks) => {
      const scene = new Scene(makeWorld(), { Tasks: tasks });
      const ran: (readonly string[])[] = [];
      for (let turn = 0; turn < 3 * tasks.length + 3 && !scene.machine.WorkflowComplete; turn++) {
        scene.patch({ Runnable: true });
        const next = scene.post(scene.machine.Context);
        if (next.kind !== "commit" || next.code !== 201 || next.job === undefined) continue;
        ran.push([next.job.Task, next.job.Stage, next.job.BootEnv, next.job.Context]);
        scene.finish();
      }
      let [stage, bootEnv, context] = ["none", "local", ""];
      const wanted: (readonly string[])[] = [];
      for (const text of tasks) {
        const [kind, name] = text.split(":");
        if (name === undefined) wanted.push([text, stage, bootEnv, context]);
        else if (kind === "stage") stage = name;
        else if (kind === "bootenv") bootEnv = name;
        else context = name;
      }
      expect(ran).toEqual(wanted);
      expect(scene.machine).toMatchObject({ WorkflowComplete: true, CurrentTask: tasks.length });
    }),
    { numRuns: rounds(150, 6_000) },
  );
});

test("a list never moves on unless the job before has finished", () => {
  fc.assert(
    fc.property(story, ({ tasks, steps }) => {
      const scene = new Scene(makeWorld(), { Tasks: tasks });
      for (const told of steps) {
        const { CurrentTask } = scene.machine;
        const before = scene.job;
        if (told.is !== "post") {
          if (told.is === "job" && before !== undefined) scene.patchJob({ State: told.state });
          if (told.is === "runnable") scene.patch({ Runnable: true });
          continue;
        }
        scene.post(told.context);
        const passed = tasks.slice(Math.max(0, CurrentTask), Math.max(0, scene.machine.CurrentTask));
        const done = passed.filter((text) => !text.includes(":"));
        // Only the task of the job that has finished may lie behind.
        expect(done).toEqual(before?.State === "finished" && passed[0] === before.Task ? done.slice(0, 1) : []);
      }
    }),
    { numRuns: rounds(150, 6_000) },
  );
});
