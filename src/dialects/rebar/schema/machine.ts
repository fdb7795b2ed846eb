import { s } from "#lib/schema/index.ts";
import { flag, key, keyed, params, text, texts } from "./common.ts";

const whole = () => s.optional(s.integer());
/** A text that the rules check. */
const one = <T extends string>(description?: string) =>
  s.optional(s.raw<T>({ type: "string", ...(description === undefined ? {} : { description }) }));

/** A copy of the machine's record, which counts while the job is the machine's current one. */
export const JobSpec = keyed({
  Uuid: key(),
  Previous: text("The machine's job before it."),
  Machine: text(),
  Task: text("The entry of the machine's Tasks."),
  Workflow: text(),
  Stage: text(),
  BootEnv: text(),
  Context: text(),
  State: one<"created" | "running" | "failed" | "finished" | "incomplete">(
    "created, running, failed, finished or incomplete.",
  ),
  ExitState: one<"" | "complete" | "failed" | "reboot" | "poweroff" | "stop">(),
  StartTime: text(),
  EndTime: text(),
  Archived: flag(),
  Current: flag("The newest job of its machine."),
  CurrentIndex: whole(),
  NextIndex: whole(),
});

const jobRecord = (description: string) => s.optional(s.anyObject({ description }));

export const MachineSpec = keyed({
  Uuid: key(),
  Name: text("Usually the full host name; unique."),
  Address: text(),
  HardwareAddrs: texts(),
  Arch: text(),
  OS: text(),
  Workflow: text("While set, Stage and BootEnv follow its tasks."),
  Stage: text(),
  BootEnv: text(),
  Context: text("Which agent runs tasks; empty: the machine's own."),
  Profiles: texts(),
  Params: params(),
  Tasks: texts(),
  CurrentTask: s.optional(s.integer({ description: "-1: before the first; the length of Tasks: done." })),
  CurrentJob: text(),
  Runnable: flag("Agents may ask for jobs."),
  Locked: flag(),
  Secret: text("Changing it invalidates the machine's tokens."),
  Pool: text(),
  PoolAllocated: flag(),
  PoolStatus: text(),
  RetryTaskAttempt: whole(),
  TaskErrorStacks: s.optional(s.list(s.any())),
  Fingerprint: s.optional(s.anyObject()),
  currentJobRecord: jobRecord("The current job whole: creating and changing it is one write of the machine."),
  previousJobRecord: jobRecord("The job before, until its own object is surely written."),
});
