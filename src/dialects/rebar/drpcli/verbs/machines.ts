import { type JsonObject, messageOf, objectAt, objectsAt, textAt } from "#lib/base/index.ts";
import { partsOfTasks, withoutTasks, withTasks } from "../patches.ts";
import { type Call, CliError, objectOrReference, type Query, type Runs } from "../verb.ts";
import { processJobs } from "./process-jobs.ts";
import { change } from "./requests.ts";

/** Verbs of machines and their jobs. */
export const machineRuns: Runs = {
  inserttask: (call) => change(call, "machines", call.args[0] ?? "", (machine) => insertTask(machine, call)),
  async "tasks add"(call) {
    const [id = "", at, offset = "", ...rest] = call.args;
    const isPlaced = at === "at";
    if (isPlaced && rest.length === 0) throw new CliError("tasks add requires a task after the offset");
    if (isPlaced && !/^\d{1,9}$/.test(offset)) throw new CliError(`${offset} is not a number`);
    const tasks = isPlaced ? rest : call.args.slice(1);
    await change(call, "machines", id, (machine) => withTasks(machine, tasks, isPlaced ? Number(offset) : undefined));
  },
  "tasks del": (call) =>
    change(call, "machines", call.args[0] ?? "", (machine) => withoutTasks(machine, call.args.slice(1))),
  async "jobs create"(call) {
    const { Uuid = null } = await machineOf(call);
    call.print((await call.send("POST", ["jobs"], { Machine: Uuid })) ?? {});
  },
  "jobs current": async (call) => call.print(await call.get(["jobs", await currentJob(call)])),
  async "jobs state"(call) {
    await change(call, "jobs", await currentJob(call), (job) => ({ ...job, State: call.args[2] ?? "" }));
  },
  "inspect jobs": (call) => inspect(call, undefined, call.args[1]),
  "inspect tasks": (call) => inspect(call, call.args[1], call.args[2]),
  currentlog: async (call) => writeLog(call, await currentJob(call)),
  async deletejobs(call) {
    const uuid = textAt(await machineOf(call), "Uuid") ?? "";
    const query: Query = Object.entries({ Machine: `Eq(${uuid})`, sort: "StartTime", reverse: "true" });
    const jobs = await call.get(["jobs"], query);
    for (const job of Array.isArray(jobs) ? jobs : []) {
      const key = textAt(job, "Uuid") ?? "";
      await call.send("DELETE", ["jobs", key]);
      call.write(`Deleted Job ${key}`);
    }
  },
  processjobs: processJobs,
  async log(call) {
    const [job = "", source] = call.args;
    if (source === undefined) return writeLog(call, job);
    const bytes = source === "-" ? await call.readBytes("-") : Buffer.from(source);
    await (await call.client()).call("PUT", ["jobs", job, "log"], { bytes, signal: call.signal });
  },
};

/** The machine that the first argument names. */
const machineOf = (call: Call): Promise<JsonObject> => objectOrReference(call, "machines", call.args[0] ?? "");

async function currentJob(call: Call): Promise<string> {
  const machine = await machineOf(call);
  const job = textAt(machine, "CurrentJob") ?? "";
  if (job === "") throw new CliError(`No current job on machine ${textAt(machine, "Uuid") ?? ""}`);
  return job;
}

async function writeLog(call: Call, job: string): Promise<void> {
  const client = await call.client();
  const log = await client.open("GET", ["jobs", job, "log"], { signal: call.signal });
  for await (const piece of log as AsyncIterable<Buffer>) call.write(piece);
}

/** Jobs of a machine, newest first; `Meta` gets their logs and actions with `--full`. */
async function inspect(call: Call, task: string | undefined, index: string | undefined): Promise<void> {
  if (index !== undefined && !/^\d{1,9}$/.test(index)) throw new CliError(`${index} is not a valid number`);
  const query = {
    Machine: textAt(await machineOf(call), "Uuid") ?? "",
    ...(task === undefined ? {} : { Task: task }),
    ...(index === undefined ? {} : { offset: index, limit: "1" }),
    sort: "StartTime",
    reverse: "true",
  };
  const jobs = objectsAt({ jobs: await call.get(["jobs"], Object.entries(query)) }, "jobs");
  if (!call.flags.has("full")) return call.print([...jobs]);
  const whole: JsonObject[] = [];
  for (const job of jobs) whole.push({ ...job, Meta: { ...objectAt(job, "Meta"), ...(await outputOf(call, job)) } });
  call.print(whole);
}

/** Texts, under the names that the original's client gives them. */
async function outputOf(call: Call, job: JsonObject): Promise<Readonly<Record<string, string>>> {
  const key = textAt(job, "Uuid") ?? "";
  const log = await logOf(call, key).catch((thrown: unknown) => `Failed to get log: ${messageOf(thrown)}`);
  try {
    const actions = objectsAt({ list: await call.get(["jobs", key, "actions"]) }, "list");
    const contents = actions.map((action, at) => [`action.${at}`, textAt(action, "Content") ?? ""]);
    return { log, actionCount: `${actions.length}`, ...Object.fromEntries(contents) };
  } catch (thrown) {
    return { log, actions: `Failed to get actions for job: ${messageOf(thrown)}` };
  }
}

async function logOf(call: Call, job: string): Promise<string> {
  const pieces: Buffer[] = [];
  const log = await (await call.client()).open("GET", ["jobs", job, "log"], { signal: call.signal });
  for await (const piece of log as AsyncIterable<Buffer>) pieces.push(piece);
  return Buffer.concat(pieces).toString("utf8");
}

/** Counted from the running task, also beyond the next stage. */
function insertTask(machine: JsonObject, { args: [, task = "", offset = "0"] }: Call): JsonObject {
  const { past, present, future } = partsOfTasks(machine);
  const open = [...present, ...future];
  const at = Number(offset);
  if (!/^\d{1,9}$/.test(offset) || at > open.length) throw new CliError(`Invalid offset ${offset}`);
  return { ...machine, Tasks: [...past, ...open.slice(0, at), task, ...open.slice(at)] };
}
