import { Readable } from "node:stream";
import { codeOf, messageOf } from "#lib/base/index.ts";
import { readBody, sendBytes } from "#kernel/doors/index.ts";
import { refusal, Refused } from "../failure.ts";
import { firstLine } from "../job-logs.ts";
import type { Job } from "../objects.ts";
import type { World } from "../world.ts";
import { isType, memberOf, mostBytes, readObjectBody } from "./bodies.ts";
import {
  type Answer,
  type Answered,
  type Call,
  denied,
  done,
  found,
  isRead,
  noRoute,
  notFound,
  writeOf,
} from "./call.ts";
import { demandOn, objectFor } from "./collections.ts";
import type { ApiParts } from "./parts.ts";
import { makeToken } from "./tokens.ts";

/** `POST /jobs`: what the machine does next. */
export async function postJob(parts: ApiParts, call: Call): Promise<Answer> {
  const sent = await readObjectBody(call);
  const machine = memberOf(sent, "Machine");
  const uuid = typeof machine === "string" ? machine : "";
  if (uuid !== "" && !call.caller.may("jobs", "create", uuid)) throw denied("jobs", "create", uuid);
  const { code, job } = await parts.store.postJob(sent, writeOf(call));
  return job === undefined ? { code } : { code, body: withElevation(parts, job) };
}

/** Elevated tasks get a token of their own with the extra claims, valid until the job ends. */
function withElevation({ store: { world }, accounts, clock }: ApiParts, job: Job): unknown {
  const task = world.get("tasks", job.Task);
  if (task === undefined || (task.ExtraClaims.length === 0 && task.ExtraRoles.length === 0)) return job;
  if (job.State === "finished" || job.State === "failed") return job;
  const expires = clock.now() + elevatedMs;
  const subject = { kind: "job", machine: job.Machine, job: job.Uuid } as const;
  return { ...job, ExtraClaims: task.ExtraClaims, Token: makeToken(accounts.tokenKey, world, subject, expires) };
}

/** The job's end revokes it. */
const elevatedMs = 365 * 86_400_000;

/** `DELETE /jobs`: removes finished and failed jobs that are not current. */
export async function purgeJobs({ store }: ApiParts, call: Call): Promise<Answer> {
  const over = store.world
    .all("jobs")
    .filter(({ State, Current }) => !Current && (State === "finished" || State === "failed"));
  const removable = over.filter((job) => call.caller.may("jobs", "delete", job.Uuid));
  if (removable.length < over.length) throw denied("jobs", "delete", "*");
  for (const { Uuid } of removable) await store.remove("jobs", Uuid, writeOf(call));
  return found(removable);
}

/** `GET /jobs/U/actions`: the templates of the task, rendered now. */
export async function jobActions({ store, renderer }: ApiParts, key: string, call: Call): Promise<Answer> {
  if (!isRead(call.method)) throw noRoute(call);
  const { world } = store;
  const job = jobFor(call, world, key);
  demandOn(call, world, "jobs", "actions", key);
  const invalid = (message: string) => new Refused(refusal(422, "ValidationError", "jobs", key, message));
  if (job.Task.includes(":")) throw invalid(`Task ${job.Task} is run by the server and has no actions`);
  const machine = world.get("machines", job.Machine);
  if (machine === undefined) throw invalid(`Machine ${job.Machine} does not exist`);
  if (world.get("tasks", job.Task) === undefined) throw invalid(`Task ${job.Task} does not exist`);
  const os = call.query.get("os") ?? "";
  const rendered = await renderer.actions(world, { collection: "tasks", name: job.Task, machine, os });
  if (!rendered.ok) throw new Refused(rendered.error);
  return found(rendered.value);
}

const jobFor = (call: Call, world: World, key: string): Job => {
  objectFor(call, world, "jobs", key);
  const job = world.get("jobs", key);
  if (job === undefined) throw notFound(call.method, "jobs", key);
  return job;
};

const contentType = "application/octet-stream";

export async function jobLog({ store, logs }: ApiParts, key: string, call: Call): Promise<Answered> {
  const { method, request } = call;
  if (method === "PUT") {
    // Without the right, an unknown job and a job of another machine look alike.
    demandOn(call, store.world, "jobs", "log", key);
    if (store.world.get("jobs", key) === undefined) throw notFound(method, "jobs", key);
    const type = request.headers["content-type"] ?? "";
    if (!isType(type, "application/octet-stream"))
      throw new Refused(refusal(415, method, "jobs", key, `Invalid content type: ${type}`));
    const bytes = await readBody(request, mostBytes);
    await logs.append(key, bytes).catch((thrown: unknown) => {
      throw codeOf(thrown) === "log-full" ? new Refused(refusal(413, method, "jobs", key, messageOf(thrown))) : thrown;
    });
    return done;
  }
  if (!isRead(method)) throw noRoute(call);
  jobFor(call, store.world, key);
  demandOn(call, store.world, "jobs", "log", key);
  const size = await logs.size(key);
  if (size !== undefined) sendBytes(call, { size, contentType, read: (start, end) => logs.read(key, start, end) });
  else {
    // Nothing has been written yet.
    const line = Buffer.from(firstLine(key));
    sendBytes(call, {
      size: line.length,
      contentType,
      read: (start, end) => Readable.from([line.subarray(start, end)]),
    });
  }
  return undefined;
}
