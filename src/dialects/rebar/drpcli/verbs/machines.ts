import { type JsonObject, textAt } from "#lib/base/index.ts";
import type { CollectionRow } from "../collections.ts";
import { partsOfTasks, withoutTasks, withTasks } from "../patches.ts";
import { type Call, CliError, exactly, objectOrReference, type Query, textFlag, type Verb } from "../verb.ts";
import { change } from "./objects.ts";
import { fieldVerb } from "./parts.ts";
import { processJobs } from "./process-jobs.ts";

const machines: CollectionRow = { name: "machines", single: "machine" };

const runnableVerb = (verb: string, Runnable: boolean, summary: string): Verb => ({
  words: ["machines", verb],
  usage: "[id]",
  summary,
  arity: exactly(1),
  run: (call) => change(call, "machines", call.args[0] ?? "", (machine) => ({ ...machine, Runnable })),
});

export const machineVerbs: readonly Verb[] = [
  fieldVerb(machines, "workflow", "Workflow"),
  fieldVerb(machines, "stage", "Stage"),
  runnableVerb("run", true, "Mark the machine as runnable"),
  runnableVerb("pause", false, "Mark the machine as NOT runnable"),
  {
    words: ["machines", "inserttask"],
    usage: "[id] [task] [offset]",
    summary: "Insert a task at [offset] from machine's running task",
    arity: { least: 2, most: 3, complaint: "expects 2 or 3 arguments" },
    run: (call) => change(call, "machines", call.args[0] ?? "", (machine) => insertTask(machine, call)),
  },
  {
    words: ["machines", "tasks", "add"],
    usage: "[id] [at [offset]] [task...]",
    summary: "Add tasks to the task list for [id]",
    arity: {
      least: 2,
      most: Number.POSITIVE_INFINITY,
      complaint: "requires at least an id and one task",
    },
    async run(call) {
      const [id = "", at, offset = "", ...rest] = call.args;
      const isPlaced = at === "at";
      if (isPlaced && rest.length === 0) throw new CliError("tasks add requires a task after the offset");
      if (isPlaced && !/^\d{1,9}$/.test(offset)) throw new CliError(`${offset} is not a number`);
      const tasks = isPlaced ? rest : call.args.slice(1);
      await change(call, "machines", id, (machine) => withTasks(machine, tasks, isPlaced ? Number(offset) : undefined));
    },
  },
  {
    words: ["machines", "tasks", "del"],
    usage: "[task...]",
    summary: "Remove tasks from the mutable part of the task list",
    arity: {
      least: 2,
      most: Number.POSITIVE_INFINITY,
      complaint: "requires at least an id and one task",
    },
    run: (call) => change(call, "machines", call.args[0] ?? "", (machine) => withoutTasks(machine, call.args.slice(1))),
  },
  {
    words: ["machines", "jobs", "create"],
    usage: "[id]",
    summary: "Create a job for the current task on machine [id]",
    arity: exactly(1),
    async run(call) {
      const { Uuid = null } = await machineOf(call);
      call.print((await call.request("POST", ["jobs"], { body: { Machine: Uuid } })).json ?? {});
    },
  },
  {
    words: ["machines", "jobs", "current"],
    usage: "[id]",
    summary: "Get the current job on machine [id]",
    arity: exactly(1),
    run: async (call) => call.print(await call.get(["jobs", await currentJob(call)])),
  },
  {
    words: ["machines", "jobs", "state"],
    usage: "[id] to [state]",
    summary: "Set the current job on machine [id] to [state]",
    arity: exactly(3, 2),
    async run(call) {
      const job = await currentJob(call);
      await change(call, "jobs", job, (object) => ({ ...object, State: call.args[2] ?? "" }));
    },
  },
  {
    words: ["machines", "currentlog"],
    usage: "[id]",
    summary: "Get the log for the most recent job run on the machine",
    arity: exactly(1),
    run: async (call) => writeLog(call, await currentJob(call)),
  },
  {
    words: ["machines", "deletejobs"],
    usage: "[id]",
    summary: "Delete all jobs associated with machine",
    arity: exactly(1),
    async run(call) {
      const uuid = textAt(await machineOf(call), "Uuid") ?? "";
      const query: Query = [
        ["Machine", `Eq(${uuid})`],
        ["sort", "StartTime"],
        ["reverse", "true"],
      ];
      const jobs = await call.get(["jobs"], query);
      for (const job of Array.isArray(jobs) ? jobs : []) {
        const key = textAt(job, "Uuid") ?? "";
        await call.request("DELETE", ["jobs", key]);
        call.write(`Deleted Job ${key}`);
      }
    },
  },
  {
    words: ["machines", "token"],
    usage: "[id]",
    summary: "Fetch a machine Token",
    arity: exactly(1),
    flags: [{ name: "ttl", value: "time", summary: "how long it is valid (1h)" }],
    async run(call) {
      const ttl = textFlag(call, "ttl") ?? "1h";
      call.print(await call.get(["machines", call.args[0] ?? "", "token"], [["ttl", ttl]]));
    },
  },
  processJobs,
];

/** The machine that the first argument names. */
const machineOf = (call: Call): Promise<JsonObject> => objectOrReference(call, "machines", call.args[0] ?? "");

async function currentJob(call: Call): Promise<string> {
  const machine = await machineOf(call);
  const job = textAt(machine, "CurrentJob") ?? "";
  if (job === "") throw new CliError(`No current job on machine ${textAt(machine, "Uuid") ?? ""}`);
  return job;
}

export async function writeLog(call: Call, job: string): Promise<void> {
  const client = await call.client();
  const log = await client.open("GET", ["jobs", job, "log"], { signal: call.signal });
  for await (const piece of log as AsyncIterable<Buffer>) call.write(piece);
}

/** Counted from the running task, also beyond the next stage. */
function insertTask(machine: JsonObject, { args: [, task = "", offset = "0"] }: Call): JsonObject {
  const { past, present, future } = partsOfTasks(machine);
  const open = [...present, ...future];
  const at = Number(offset);
  if (!/^\d{1,9}$/.test(offset) || at > open.length) throw new CliError(`Invalid offset ${offset}`);
  return { ...machine, Tasks: [...past, ...open.slice(0, at), task, ...open.slice(at)] };
}
