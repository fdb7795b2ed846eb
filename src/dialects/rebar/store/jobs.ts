import type { JsonObject } from "#lib/base/index.ts";
import { Refused } from "../failure.ts";
import { readObject } from "../model/read.ts";
import type { Job, Machine } from "../objects.ts";
import { changeJob, nextJob, type NextJob, readJobRequest, undeletable } from "../rules/job.ts";
import type { RebarStore, Write } from "../store.ts";
import type { Records } from "./codec.ts";
import { internal } from "./events.ts";
import { changing, missing, newUuid, nowText, type Parts, refuse, taken } from "./parts.ts";
import type { Entry } from "./table.ts";

type Posted = Awaited<ReturnType<RebarStore["postJob"]>>;
type Commit = Extract<NextJob, { kind: "commit" }>;

/** The next job of a machine: one write of the machine, which contains the job. */
export async function postJob(parts: Parts, request: JsonObject, write: Write): Promise<Posted> {
  const wanted = taken(readJobRequest(request));
  const { mirror } = parts;
  const found = await changing(parts, "machines", wanted.Machine, async () => {
    const entry = await completed(parts, wanted.Machine);
    const machine = entry?.wire;
    const current = machine === undefined ? undefined : mirror.get("jobs", machine.CurrentJob);
    const next = nextJob(machine, current, wanted, mirror, { now: nowText(parts), uuid: newUuid() });
    if (next.kind === "commit" && entry !== undefined) await commit(parts, entry, current, next, write);
    return next;
  });
  switch (found.kind) {
    case "refused":
      throw new Refused(found.error);
    case "nothing":
      return { code: 204 };
    case "again":
      return { code: 202, job: found.job };
    case "commit":
      await writeLog(parts, found);
      if (found.action !== undefined) return await runAction(parts, found, found.action, write);
      return found.job === undefined || found.code === 204 ? { code: 204 } : { code: found.code, job: found.job };
  }
}

async function completed(parts: Parts, machine: string): Promise<Entry<"machines"> | undefined> {
  const table = parts.mirror.table("machines");
  if (table.entry(machine)?.isEdited === true) await parts.complete("machines", machine);
  return table.entry(machine);
}

async function commit(
  parts: Parts,
  entry: Entry<"machines">,
  current: Job | undefined,
  next: Commit,
  write: Write,
): Promise<void> {
  const { records } = entry;
  const left = next.superseded ?? current;
  const after: Records = next.job === undefined ? { ...records, current: left } : { current: next.job, previous: left };
  if (next.job !== undefined && records.previous !== undefined) await parts.projections.write(records.previous);
  const { entry: stored } = await parts.writer.replace("machines", entry, next.machine, after);
  const { events, projections } = parts;
  if (next.job !== undefined) events.tell("jobs", "create", next.job, write.by);
  events.tell("machines", "update", stored.wire ?? next.machine, write.by, entry.wire);
  if (left !== undefined && left !== current) events.tell("jobs", "save", left, write.by, current);
  if (next.job !== undefined && left !== undefined) projections.writeSoon(left);
  projections.changed(entry.key);
}

async function writeLog({ logs }: Parts, { job, log }: Commit): Promise<void> {
  if (job === undefined || log.length === 0) return;
  await logs?.append(job.Uuid, new TextEncoder().encode(log.map((line) => `${line}\n`).join("")));
}

/** The machine is not held meanwhile: a second request finds the job running. */
async function runAction(
  parts: Parts,
  { job, machine }: Commit,
  action: NonNullable<Commit["action"]>,
  write: Write,
): Promise<Posted> {
  if (job === undefined) return { code: 204 };
  const { runAction: run, logs, signal } = parts;
  const { isOk, log } =
    run === undefined
      ? { isOk: false, log: `Action ${action.command} validation failed:\nno actions on this server\n` }
      : await run({ machine, job, by: write.by, signal, ...action });
  await logs?.append(job.Uuid, new TextEncoder().encode(log));
  const end: JsonObject = isOk
    ? { State: "finished", ExitState: "complete" }
    : { State: "failed", ExitState: "failed" };
  const ended = await updateJob(parts, job.Uuid, (now) => ({ ...asSent(now), ...end }), { by: internal });
  return ended.State === "finished" ? { code: 201, job: ended } : { code: 204 };
}

const asSent = (job: Job): JsonObject => ({ ...job });

/** A record of its machine changes with the machine in one write; older jobs are objects of their own. */
export async function updateJob(
  parts: Parts,
  key: string,
  change: (job: Job) => JsonObject,
  write: Write,
): Promise<Job> {
  const { mirror } = parts;
  const first = mirror.get("jobs", key);
  if (first === undefined) throw missing("jobs", key);
  return await changing(parts, "machines", first.Machine, async () => {
    const old = mirror.get("jobs", key);
    if (old === undefined) throw missing("jobs", key);
    const entry = await completed(parts, old.Machine);
    const sent = taken(readObject("jobs", change(old), old));
    const changed = taken(changeJob(old, sent, entry?.wire, mirror, nowText(parts)));
    if (changed.job === old) return old;
    await storeJob(parts, entry, old, changed, write);
    return changed.job;
  });
}

async function storeJob(
  parts: Parts,
  entry: Entry<"machines"> | undefined,
  old: Job,
  changed: { readonly job: Job; readonly machine?: Machine },
  write: Write,
): Promise<void> {
  const { events, projections, writer } = parts;
  const { job } = changed;
  if (entry?.wire === undefined || !isRecord(entry.records, job.Uuid)) {
    await changing(parts, "jobs", job.Uuid, () => projections.write(job));
    events.tell("jobs", "update", job, write.by, old);
    return;
  }
  const machine = changed.machine ?? entry.wire;
  const { entry: stored } = await writer.replace("machines", entry, machine, withRecord(entry.records, job));
  events.tell("jobs", "update", job, write.by, old);
  if (machine !== entry.wire) events.tell("machines", "update", stored.wire ?? machine, write.by, entry.wire);
  if (job.Current) projections.changed(entry.key);
  else projections.writeSoon(job);
}

const isRecord = ({ current, previous }: Records, uuid: string): boolean =>
  current?.Uuid === uuid || previous?.Uuid === uuid;

const withRecord = ({ current, previous }: Records, job: Job): Records =>
  current?.Uuid === job.Uuid ? { current: job, previous } : { current, previous: job };

const without = ({ current, previous }: Records, uuid: string): Records => ({
  current: current?.Uuid === uuid ? undefined : current,
  previous: previous?.Uuid === uuid ? undefined : previous,
});

/** Deletes the log too. A machine whose current job is deleted has none. */
export async function removeJob(parts: Parts, key: string, write: Write): Promise<Job> {
  const { mirror, writer, logs, projections, events } = parts;
  const first = mirror.get("jobs", key);
  if (first === undefined) throw missing("jobs", key);
  return await changing(parts, "machines", first.Machine, async () => {
    const job = mirror.get("jobs", key);
    if (job === undefined) throw missing("jobs", key);
    refuse(undeletable(job, mirror));
    const entry = await completed(parts, job.Machine);
    if (entry?.wire !== undefined && isRecord(entry.records, key)) {
      // What a crash leaves is then the job as it ended.
      await projections.write(job);
      const isCurrent = entry.wire.CurrentJob === key;
      const machine = isCurrent ? { ...entry.wire, CurrentJob: "" } : entry.wire;
      await writer.replace("machines", entry, machine, without(entry.records, key));
      if (isCurrent) events.tell("machines", "save", machine, write.by, entry.wire);
    }
    await projections.remove(key);
    await logs?.remove(key);
    events.tell("jobs", "delete", job, write.by);
    return job;
  });
}

/** Before a machine goes: its jobs stay readable. */
export async function writeRecordsOf({ projections }: Parts, { current, previous }: Records): Promise<void> {
  if (previous !== undefined) await projections.write(previous);
  if (current !== undefined) await projections.write({ ...current, Current: false });
}
