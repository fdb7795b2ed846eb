import { type Clock, type JsonValue, messageOf, type Millis, retry, sleep } from "#lib/base/index.ts";
import { newUid } from "#lib/base/index.node.ts";
import type { Job, Machine, Stage } from "../objects.ts";
import {
  advance,
  type AgentState,
  type Effect,
  isMet,
  knownOf,
  type Manner,
  nextStageOf,
  type Observation,
  startOf,
} from "./agent-state.ts";
import { decoded, fetchObject, isRefused, isUnreachable, type RebarClient, replace, test } from "./client.ts";
import type { EventStream } from "./event-stream.ts";
import type { AgentJournal } from "./journal.ts";
import { type GivenJob, runJob } from "./run-job.ts";
import type { WorkPlace } from "./work-place.ts";

export interface AgentOptions extends Manner {
  /** UUID of the machine. */
  readonly machine: string;
  readonly client: RebarClient;
  readonly place: WorkPlace;
  /** Reboots or powers off this host. Absent: it is only told. */
  readonly power?: (command: "reboot" | "poweroff") => Promise<void>;
  /** Makes the machine runnable after the first AGENT_INIT, and after each that fails a job of an earlier agent. */
  readonly marksRunnable: boolean;
  /** Absent in contexts: only the host's own agent reboots. */
  readonly journal?: AgentJournal;
  readonly os: string;
  readonly clock: Clock;
  /** Lines for people. */
  readonly tell: (line: string) => void;
  /** Output of scripts, as it goes to the log of the job. */
  readonly echo: (bytes: Uint8Array) => void;
}

const longestWait: Millis = 3_600_000;
const oneShotWait: Millis = 1_000;
/** Time to report a job after the agent was stopped. */
const farewell: Millis = 10_000;
const retryFirst: Millis = 1_000;
const retryLongest: Millis = 30_000;
/** Of a request while a job runs, for an agent that exits on failures. */
const impatientTries = 5;

/** Runs until AGENT_EXIT. Resolves with the error that is stored then. */
export async function runAgent(options: AgentOptions, stopped: AbortSignal): Promise<string | undefined> {
  const agent = new MachineAgent(options, stopped);
  try {
    return await agent.run();
  } finally {
    agent.close();
  }
}

class MachineAgent {
  readonly #options: AgentOptions;
  readonly #stopped: AbortSignal;
  /** Aborts requests, some time after `stopped`. */
  readonly #closed = new AbortController();
  #events: EventStream | undefined;
  /** Resolves the running wait. */
  #wake: () => void = () => undefined;
  /** An event came since the machine was read. */
  #isStale = false;
  /** In AGENT_INIT. */
  #marksRunnable: boolean;
  /** The last one that this agent has run. */
  #ownJob = "";

  constructor(options: AgentOptions, stopped: AbortSignal) {
    this.#options = options;
    this.#stopped = stopped;
    this.#marksRunnable = options.marksRunnable;
    const end = () => void options.clock.after(farewell, () => this.#closed.abort(stopped.reason));
    if (stopped.aborted) end();
    else stopped.addEventListener("abort", end, { once: true });
  }

  close(): void {
    this.#events?.close();
    this.#closed.abort();
  }

  async run(): Promise<string | undefined> {
    let state = await this.#begin();
    for (;;) {
      if (state === undefined) return undefined;
      this.#options.tell(`${state.at} ${state.machine.Name}`);
      if (state.error !== undefined) this.#options.tell(`error: ${state.error}`);
      if (state.at === "AGENT_EXIT") return state.error;
      const seen = await this.#observe(state).catch((thrown: unknown): Observation => {
        return this.#stopped.aborted ? { is: "interrupted" } : { is: "failed", error: messageOf(thrown) };
      });
      const next = advance(state, seen, this.#options);
      state = next.state;
      await this.#perform(next.effects);
      await this.#note(state);
    }
  }

  /** The first look at the machine; repeated like AGENT_INIT. Undefined when stopped before. */
  async #begin(): Promise<AgentState | undefined> {
    const { clock, exitsOnFailure, journal, tell } = this.#options;
    for (;;) {
      try {
        const machine = await this.#machine();
        const flags = (machine.Meta["feature-flags"] ?? "").split(",");
        const isOriginal = flags.includes("original-change-stage") || !flags.includes("change-stage-v2");
        if (this.#options.context === "" && isOriginal) this.#marksRunnable = true;
        const { state, effects } = startOf(knownOf(machine), await journal?.read(), this.#options);
        await this.#perform(effects);
        await this.#note(state);
        return state;
      } catch (thrown) {
        if (this.#stopped.aborted) return undefined;
        if (exitsOnFailure || isRefused(thrown, 404)) throw thrown;
        tell(`error: ${messageOf(thrown)}; trying again in ${retryLongest / 1000} s`);
        await sleep(clock, retryLongest, this.#stopped).catch(() => undefined);
      }
    }
  }

  async #note({ machine }: AgentState): Promise<void> {
    const { journal, tell } = this.#options;
    await journal?.write(machine).catch((thrown: unknown) => tell(`error: ${messageOf(thrown)}`));
  }

  #observe(state: AgentState): Promise<Observation> {
    switch (state.at) {
      case "AGENT_INIT":
        return this.#initialize();
      case "AGENT_WAIT_FOR_RUNNABLE":
      case "AGENT_WAIT_FOR_CHANGE_STAGE":
        return this.#wait(state);
      case "AGENT_RUN_TASK":
        return this.#runTask();
      case "AGENT_CHANGE_STAGE":
        return this.#changeStage(state);
      case "AGENT_REBOOT":
        return this.#power("reboot");
      case "AGENT_POWEROFF":
        return this.#power("poweroff");
      case "AGENT_EXIT":
        return Promise.resolve({ is: "powered" });
    }
  }

  async #initialize(): Promise<Observation> {
    const { client, context, machine: uuid } = this.#options;
    const { signal } = this.#closed;
    this.#events?.close();
    this.#events = undefined;
    this.#stopped.throwIfAborted();
    const machine = await this.#machine();
    const left = await this.#failLeftJob(machine, context);
    // A killed agent's request may have made it after this one began.
    if (left !== undefined && left !== this.#ownJob) this.#marksRunnable ||= this.#options.marksRunnable;
    const events = await client.events(this.#stopped);
    events.listen(() => this.#onChange());
    void events.ended.then(() => this.#onChange());
    for (const action of ["update", "save"]) await events.register(`machines.${action}.${uuid}`);
    this.#events = events;
    let isEnded = false;
    void events.ended.then(() => (isEnded = true));
    this.#hasEnded = () => isEnded;
    // The machine stops with its job.
    if (this.#marksRunnable && (left !== undefined || !machine.Runnable))
      await this.#patchMachine([replace("/Runnable", true)], signal);
    this.#marksRunnable = false;
    return { is: "initialized", machine: knownOf(machine) };
  }

  #hasEnded: () => boolean = () => false;

  /** Its UUID. The script has ended with its agent. Jobs of other contexts have agents of their own. */
  async #failLeftJob({ CurrentJob }: Machine, context: string): Promise<string | undefined> {
    if (CurrentJob === "") return undefined;
    const { client } = this.#options;
    const { signal } = this.#closed;
    const job = await fetchObject<Job>(client, ["jobs", CurrentJob], signal).catch((thrown: unknown) => {
      if (isRefused(thrown, 404)) return undefined;
      throw thrown;
    });
    if (job === undefined || job.Context !== context) return undefined;
    if (job.State !== "created" && job.State !== "running") return undefined;
    const body = [test("/State", job.State), replace("/State", "failed")];
    await client.call("PATCH", ["jobs", job.Uuid], { body, signal });
    return job.Uuid;
  }

  #onChange(): void {
    this.#isStale = true;
    this.#wake();
  }

  async #wait(state: AgentState): Promise<Observation> {
    const { clock, context, isOneShot } = this.#options;
    let isOver = false;
    const cancel = clock.after(isOneShot ? oneShotWait : longestWait, () => {
      isOver = true;
      this.#wake();
    });
    const wake = () => this.#wake();
    this.#stopped.addEventListener("abort", wake, { once: true });
    try {
      for (;;) {
        if (this.#stopped.aborted) return { is: "interrupted" };
        if (this.#hasEnded()) return { is: "failed", error: "the event stream has ended" };
        this.#isStale = false;
        const machine = knownOf(await this.#machine());
        if (isMet(state, machine, context)) return { is: "met", machine };
        if (isOver) return { is: "timeout" };
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
          if (this.#isStale || isOver || this.#stopped.aborted) resolve();
        });
      }
    } finally {
      cancel();
      this.#stopped.removeEventListener("abort", wake);
    }
  }

  async #runTask(): Promise<Observation> {
    const job = await this.#nextJob();
    if (job === undefined) return { is: "no-job" };
    const { client, clock, context, echo, os, place, tell } = this.#options;
    this.#ownJob = job.Uuid;
    tell(`job ${job.Uuid}: ${job.Workflow}:${job.Stage}:${job.Task} (${job.CurrentIndex})`);
    const parts = { client, clock, context, echo, os, place, stopped: this.#stopped, signal: this.#closed.signal };
    const ending = await runJob(job, { ...parts, patiently: (work) => this.#patiently(work) });
    return { is: "ran", task: job.Task, ending };
  }

  /** The agent chooses the UUID, so that a job whose answer is lost is found again. */
  async #nextJob(): Promise<GivenJob | undefined> {
    const { client, context, machine } = this.#options;
    const { signal } = this.#closed;
    const Uuid = newUid();
    let isRepeated = false;
    const body = { Machine: machine, Context: context, Uuid };
    const answer = await this.#patiently(async () => {
      try {
        return (await client.call("POST", ["jobs"], { body, signal })).json;
      } catch (thrown) {
        if (isRepeated && isRefused(thrown, 409)) return await fetchObject(client, ["jobs", Uuid], signal);
        isRepeated = true;
        throw thrown;
      }
    });
    // A reply without a body says that there is nothing to run.
    return answer === null ? undefined : decoded<GivenJob>(answer);
  }

  async #changeStage({ machine }: AgentState): Promise<Observation> {
    const next = nextStageOf(machine);
    if (next === undefined) return { is: "stage" };
    const { client } = this.#options;
    const stage = await fetchObject<Stage>(client, ["stages", next], this.#closed.signal);
    await this.#patchMachine([test("/Stage", machine.Stage), replace("/Stage", next)], this.#closed.signal);
    return { is: "stage", entered: { bootEnv: stage.BootEnv } };
  }

  async #power(command: "reboot" | "poweroff"): Promise<Observation> {
    const { context, power, tell } = this.#options;
    const name = command === "reboot" ? "a reboot" : "to power off";
    if (context !== "" || power === undefined) {
      tell(`the machine is due for ${name}; this agent does not do that and exits`);
      return { is: "powered" };
    }
    await this.#perform([{ do: "mark-not-runnable" }]);
    await power(command);
    return { is: "powered" };
  }

  async #perform(effects: readonly Effect[]): Promise<void> {
    const { clock, tell } = this.#options;
    for (const effect of effects) {
      if (effect.do === "sleep") await sleep(clock, effect.ms, this.#stopped).catch(() => undefined);
      else
        await this.#patchMachine([test("/Context", ""), replace("/Runnable", false)], this.#closed.signal).catch(
          (thrown: unknown) => tell(`the machine could not be marked as not runnable: ${messageOf(thrown)}`),
        );
    }
  }

  async #machine(): Promise<Machine> {
    const { client, machine } = this.#options;
    return await fetchObject<Machine>(client, ["machines", machine], this.#closed.signal);
  }

  async #patchMachine(body: JsonValue, signal: AbortSignal): Promise<void> {
    await this.#options.client.call("PATCH", ["machines", this.#options.machine], { body, signal });
  }

  /** The result of a script must not be lost because the server restarts. */
  #patiently<T>(work: () => Promise<T>): Promise<T> {
    const { clock, exitsOnFailure } = this.#options;
    const tries = exitsOnFailure ? impatientTries : Number.POSITIVE_INFINITY;
    const signal = this.#closed.signal;
    return retry(
      { clock, first: retryFirst, longest: retryLongest, tries, signal, isRetryable: isUnreachable },
      async () => await work(),
    );
  }
}
