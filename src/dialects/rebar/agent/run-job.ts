import { posix } from "node:path";
import { type Clock, isJsonObject, type JsonObject, type JsonValue, messageOf, textAt } from "#lib/base/index.ts";
import { Refused } from "../failure.ts";
import type { Job, Task } from "../objects.ts";
import type { JobAction } from "../render.ts";
import { fetchObject, isRefused, type RebarClient, replace, test } from "./client.ts";
import { endingAfter, endingOfCode, exitStateOf, type JobEnding } from "./exit-codes.ts";
import { helperScript } from "./helper.ts";
import { JobLog } from "./job-log.ts";
import type { WorkPlace } from "./work-place.ts";

/** As `POST /jobs` answers; `Token` if the task has rights of its own. */
export interface GivenJob extends Job {
  readonly Token?: string;
}

export interface JobParts {
  readonly client: RebarClient;
  readonly place: WorkPlace;
  readonly clock: Clock;
  readonly context: string;
  /** The name of this system in `Meta.OS`. */
  readonly os: string;
  /** For people. */
  readonly echo: (bytes: Uint8Array) => void;
  /** Repeats a request while the server cannot be reached. */
  readonly patiently: <T>(work: () => Promise<T>) => Promise<T>;
  /** Ends the script: the job becomes incomplete. */
  readonly stopped: AbortSignal;
  /** Aborts requests; later than `stopped`. */
  readonly signal: AbortSignal;
}

/** Runs a job to its end and reports it. Rejects if the job is not this agent's to run or cannot be reported. */
export async function runJob(job: GivenJob, parts: JobParts): Promise<JobEnding> {
  if (job.Task.includes(":")) return endingOfServerJob(job);
  const { client, clock, echo, patiently, place, signal } = parts;
  const task = await patiently(() => fetchObject<Task>(client, ["tasks", job.Task], signal));
  await begin(job, parts);
  const send = async (bytes: Uint8Array): Promise<void> => {
    await patiently(() => client.call("PUT", ["jobs", job.Uuid, "log"], { bytes, signal }));
  };
  const log = new JobLog({ send, echo, clock });
  const directory = await place.makeTaskDirectory(job.Task.replaceAll(/[^\w.-]/g, "_"));
  try {
    await log.line(`Starting task ${job.Workflow}:${job.Stage}:${job.Task}`);
    const ending = await runActions(job, task, directory, log, parts).catch(async (thrown: unknown) => {
      await log.line(`Task ${job.Task} failed: ${messageOf(thrown)}`);
      return { state: "failed" } as const;
    });
    await report(job, ending, log, parts);
    return ending;
  } finally {
    await log.close();
    await place.remove(directory).catch(() => undefined);
  }
}

async function begin(job: GivenJob, parts: JobParts): Promise<void> {
  const { client, patiently, signal } = parts;
  let isRepeated = false;
  await patiently(async () => {
    try {
      await patchJob(parts, job, [test("/State", job.State), replace("/State", "running")]);
    } catch (thrown) {
      // The answer of an earlier try may have been lost.
      if (!isRepeated || !isRefused(thrown, 409)) {
        isRepeated = true;
        throw thrown;
      }
      const { State } = await fetchObject(client, ["jobs", job.Uuid], signal);
      if (State !== "running") throw thrown;
    }
  });
}

/** Entries with a colon have been executed by the server. */
function endingOfServerJob({ Uuid, State, Task: entry }: GivenJob): JobEnding {
  if (State === "finished" || State === "failed") return { state: State };
  throw new Error(`expected job ${Uuid} for ${entry} to be finished or failed, found ${State}`);
}

async function runActions(
  job: GivenJob,
  task: Task,
  directory: string,
  log: JobLog,
  parts: JobParts,
): Promise<JobEnding> {
  const actions = await actionsOf(job, parts);
  let hasHelper = false;
  for (const [index, action] of actions.entries()) {
    const isLast = index === actions.length - 1;
    if (action.Path !== "") {
      await writeFileAction(action, directory, log, parts.place);
      continue;
    }
    if (!hasHelper) await parts.place.write(posix.join(directory, "helper"), helperScript, 0o600);
    hasHelper = true;
    const ending = endingAfter(await runScript(job, task, action, directory, log, parts), isLast);
    await log.line(`Action ${action.Name} ended`);
    if (ending !== undefined) return ending;
  }
  return { state: "finished" };
}

/** Problems of rendering are the task's failure, with all their messages. */
async function actionsOf({ Uuid }: GivenJob, parts: JobParts): Promise<readonly JobAction[]> {
  const { client, os, patiently, signal } = parts;
  const found = await patiently(() => client.get(["jobs", Uuid, "actions"], signal, [["os", os]])).catch(
    (thrown: unknown) => {
      throw thrown instanceof Refused ? new Error(thrown.body.Messages.join("\n  ")) : thrown;
    },
  );
  if (!Array.isArray(found)) return [];
  return found.filter(isJsonObject).map(readAction).filter(isFor(os));
}

function readAction(given: JsonObject): JobAction {
  const text = (name: string) => textAt(given, name) ?? "";
  const meta = isJsonObject(given["Meta"]) ? given["Meta"] : {};
  const Meta = Object.fromEntries(Object.keys(meta).map((name) => [name, textAt(meta, name) ?? ""]));
  return { Name: text("Name"), Path: text("Path"), Content: text("Content"), Meta };
}

const isFor =
  (os: string) =>
  ({ Meta: { OS = "" } }: JobAction): boolean => {
    const systems = OS.split(",").map((one) => one.trim());
    return OS.trim() === "" || systems.includes(os) || systems.includes("any");
  };

async function writeFileAction(action: JobAction, directory: string, log: JobLog, place: WorkPlace): Promise<void> {
  const { Name, Path, Content } = action;
  // Cleaned as if it began at the root, so that it stays below the directory.
  const path = posix.isAbsolute(Path) ? Path : posix.join(directory, posix.normalize(`/${Path}`));
  await log.line(`Writing ${Name} to ${path}`);
  await place.write(path, Content, 0o644);
}

async function runScript(
  job: GivenJob,
  task: Task,
  action: JobAction,
  directory: string,
  log: JobLog,
  parts: JobParts,
): Promise<JobEnding> {
  const { place, stopped } = parts;
  const file = `${job.Task}-${action.Name}`.replaceAll("/", "_");
  await place.write(posix.join(directory, file), action.Content, 0o700);
  const command = commandOf(file, action);
  if (command === undefined) throw new Error(`${action.Name} does not begin with #! and names no Interpreter`);
  if (stopped.aborted) return { state: "incomplete" };
  await log.line(`Running ${action.Name}`);
  const running = await place.start({ command, env: await environmentOf(job, directory, parts), directory });
  const kill = () => running.kill();
  stopped.addEventListener("abort", kill, { once: true });
  try {
    for await (const piece of running.output) await log.append(Buffer.from(piece));
    const code = await running.ended;
    if (stopped.aborted) {
      await log.line("The agent was stopped; the script was killed");
      return { state: "incomplete" };
    }
    await log.line(`Command exited with status ${code}`);
    const isOriginal = (task.Meta["feature-flags"] ?? "").split(",").includes("original-exit-codes");
    const isSane = !isOriginal || (await place.isFile(posix.join(directory, ".sane-exit-codes")));
    return endingOfCode(code, isSane);
  } finally {
    stopped.removeEventListener("abort", kill);
  }
}

/** Undefined for a file that the system cannot execute. */
function commandOf(file: string, { Content, Meta }: JobAction): readonly [string, ...string[]] | undefined {
  const { Interpreter = "" } = Meta;
  if (Interpreter !== "") return [Interpreter, `./${file}`];
  if (file.endsWith(".ps1")) return ["powershell", "-ExecutionPolicy", "Bypass", "-File", `./${file}`];
  return Content.startsWith("#!") || Content.startsWith("\x7fELF") ? [`./${file}`] : undefined;
}

async function environmentOf(job: GivenJob, directory: string, parts: JobParts) {
  const { client, context, patiently, place, signal } = parts;
  const parent = posix.dirname(place.runnerDirectory);
  return {
    HOME: place.runnerDirectory,
    ...place.environment,
    TMPDIR: parent,
    TMP: parent,
    RS_RUNNER_DIR: place.runnerDirectory,
    RS_TASK_DIR: directory,
    RS_UUID: job.Machine,
    RS_ENDPOINT: client.endpoint,
    RS_TOKEN: job.Token !== undefined && job.Token !== "" ? job.Token : await patiently(() => client.token(signal)),
    RS_CONTEXT: context,
  };
}

async function report(job: GivenJob, ending: JobEnding, log: JobLog, parts: JobParts): Promise<void> {
  const { client, patiently, signal } = parts;
  if (ending.state !== "finished" || ending.asks !== undefined) {
    const body = [test("/Runnable", true), replace("/Runnable", false)];
    await patiently(() => client.call("PATCH", ["machines", job.Machine], { body, signal })).catch(
      async (thrown: unknown) => log.line(`Marking the machine as not runnable failed: ${messageOf(thrown)}`),
    );
  }
  const exitState = exitStateOf(ending);
  const final = [test("/State", "running"), replace("/State", ending.state), replace("/ExitState", exitState)];
  await patiently(async () => {
    try {
      await patchJob(parts, job, final);
    } catch (thrown) {
      // The answer of an earlier try may have been lost.
      if (!isRefused(thrown, 409)) throw thrown;
      const { State, ExitState } = await fetchObject(client, ["jobs", job.Uuid], signal);
      if (State !== ending.state || ExitState !== exitState) throw thrown;
    }
  });
  await log.line(`Task ${job.Workflow}:${job.Stage}:${job.Task} is ${ending.state}`);
}

async function patchJob({ client, signal }: JobParts, { Uuid }: Job, body: JsonValue): Promise<void> {
  await client.call("PATCH", ["jobs", Uuid], { body, signal });
}
