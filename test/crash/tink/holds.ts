import { existsSync, writeFileSync } from "node:fs";
import { mkdir, writeFile, rm, readFile } from "node:fs/promises";
import { join } from "node:path";
import { sleep, systemClock } from "#lib/base/index.ts";
import type { ApiClient, Patch, Ref, WriteOptions } from "#kernel/kit/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import { currentIndex } from "#dialects/tinkerbell/state.ts";
import { type AnyWorkflow, stateOf } from "#dialects/tinkerbell/stored.ts";
import { runningAction } from "#dialects/tinkerbell/transitions.ts";

// States of a workflow that last for a moment only are made to last: the process that makes a write waits just before or just after it, for as
// long as a file is there, or ends there and then. Files, because both sides of them are killed.

/** Moments in the life of a workflow, or of the hardware of the same name. */
export type Moment =
  /** The dispatch is durable, and the agent was not told. */
  | "scheduled"
  /** The first action has succeeded, and the agent does not know that this is recorded. */
  | "recorded"
  /** The first action has succeeded and the agent knows it; the start of the second is not recorded. */
  | "between"
  /** Before the machine may boot from the network, and before it may not any more. */
  | "preparing"
  | "post";

const fileOf = (directory: string, name: string, moment: Moment): string => join(directory, `${name}.${moment}`);

/** Whoever comes to this moment waits there until `release`; `die` ends the process instead. */
export async function hold(
  directory: string,
  name: string,
  moment: Moment,
  how: "wait" | "die" = "wait",
): Promise<void> {
  await mkdir(directory, { recursive: true });
  await writeFile(fileOf(directory, name, moment), how);
}

export const release = (directory: string, name: string, moment: Moment): Promise<void> =>
  rm(fileOf(directory, name, moment), { force: true });

/** Somebody has come to the moment since it is held. */
export const isHeld = (directory: string, name: string, moment: Moment): boolean =>
  existsSync(`${fileOf(directory, name, moment)}.reached`);

async function reach(directory: string, name: string, moment: Moment): Promise<void> {
  const file = fileOf(directory, name, moment);
  const how = await readFile(file, "utf8").catch(() => undefined);
  if (how === undefined) return;
  writeFileSync(`${file}.reached`, "");
  if (how === "die") process.kill(process.pid, "SIGKILL");
  while (existsSync(file)) await sleep(systemClock, 20);
}

/** The client with which the server under test works: it writes as `client` does, but waits at moments that are held. */
export function holding(client: ApiClient, directory: string): ApiClient {
  const updateStatus = async (...[kind, object, options]: Parameters<ApiClient["updateStatus"]>) => {
    const { name = "" } = object.metadata;
    const moment = object.kind === "Workflow" ? momentOf(object) : undefined;
    if (moment === "between") await reach(directory, name, moment);
    const stored = await client.updateStatus(kind, object, options);
    if (moment !== undefined && moment !== "between") await reach(directory, name, moment);
    return stored;
  };
  const patch = async (ref: Ref, change: Patch, options?: WriteOptions & { readonly subresource?: string }) => {
    if (ref.type.kind === "Hardware") await reach(directory, ref.name, isAllowed(change) ? "preparing" : "post");
    return await client.patch(ref, change, options);
  };
  return new Proxy(client, {
    get(target, key) {
      if (key === "updateStatus") return updateStatus;
      if (key === "patch") return patch;
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

/** Which moment this status is. */
function momentOf(object: KubeObject): Moment | undefined {
  const state = stateOf(object as AnyWorkflow);
  if (state.phase === "Scheduled") return "scheduled";
  if (state.phase !== "Running" || currentIndex(state) !== 1) return undefined;
  return runningAction(state) === undefined ? "recorded" : "between";
}

/** Whether a change of a hardware's interfaces lets it boot from the network. */
const isAllowed = (patch: Patch): boolean =>
  patch.type === "merge" && JSON.stringify(patch.body).includes('"allowPXE":true');
