import {
  deepFreeze,
  type Instant,
  isJsonObject,
  type JsonObject,
  numberAt,
  SlipwayError,
  textAt,
  textsAt,
} from "#lib/base/index.ts";
import { type Condition, conditionOf, withCondition } from "#kernel/kit/index.ts";
import { withEnded } from "../times.ts";
import { apiVersionOf, type KubeObject, type Stored } from "#kernel/model/index.ts";
import { computed } from "../model/fields.ts";
import { asJson } from "../model/read.ts";
import { bundleLabel, kindOf, machineLabel, revisionLabel } from "../kinds.ts";
import { type AnyObject, type Collection, type Job, keyField, type Machine, type ObjectOf } from "../objects.ts";
import { labelOf, nameInRevision, nameOf } from "./names.ts";

// Objects as Kubernetes keeps them, and as clients of `/api/v3` see them.

/** The bundle of what clients write. */
export const writable = "BackingStore";

export interface Status {
  readonly validated?: boolean;
  readonly available?: boolean;
  readonly errors?: readonly string[];
  readonly conditions?: readonly Condition[];
  /** Grows with each write of this server. */
  readonly writes?: number;
  /** Of a direct edit. */
  readonly before?: JsonObject;
  /** Of a machine: when its task list was begun, which is at -1 before. */
  readonly begun?: string;
  /** Of a machine: which jobs of this pass of its task list have ended, and when; see `times.ts`. */
  readonly times?: string;
}

/** A stored object of one of the collections. */
export type Kept = Stored<KubeObject & { readonly spec: JsonObject; readonly status?: Status }>;

const partials = new Set<Collection>(["machines", "stages", "profiles", "plugins"]);

export const keyIn = (collection: Collection, spec: JsonObject): string => {
  const key = spec[keyField(collection)];
  return typeof key === "string" ? key : "";
};

/** The schema of its kind was checked when it was stored. */
export const isKept = (object: KubeObject): object is Kept => isJsonObject(object.spec);

export function keptOf(object: KubeObject): Kept {
  if (isKept(object)) return object;
  throw new SlipwayError("rebar-object", `${object.kind} "${object.metadata.name ?? ""}" has no spec`);
}

export const isTaskListDone = ({ Tasks, CurrentTask }: Pick<Machine, "Tasks" | "CurrentTask">): boolean =>
  Tasks.length === 0 || CurrentTask >= Tasks.length;

/** What clients see of a spec that the server wrote, so that it is complete. */
export function decode<C extends Collection>(
  collection: C,
  spec: JsonObject,
  status: Status | undefined,
  bundle: string,
): ObjectOf[C] {
  const { currentJobRecord: _current, previousJobRecord: _previous, ...fields } = spec;
  const common = {
    Validated: true,
    Available: status?.available ?? false,
    Errors: status?.errors ?? [],
    ReadOnly: bundle !== writable,
    Endpoint: "",
    Bundle: bundle,
    ...(partials.has(collection) ? { Partial: false } : {}),
  };
  const list = () => ({ Tasks: textsAt(spec, "Tasks"), CurrentTask: numberAt(spec, "CurrentTask") ?? -1 });
  const more = collection === "machines" ? { WorkflowComplete: isTaskListDone(list()) } : {};
  return { ...fields, ...common, ...more } as unknown as ObjectOf[C];
}

export interface Records {
  readonly current: Job | undefined;
  readonly previous: Job | undefined;
}

export const noRecords: Records = { current: undefined, previous: undefined };

export function recordsIn(spec: JsonObject): Records {
  const { currentJobRecord, previousJobRecord } = spec;
  return { current: jobIn(currentJobRecord), previous: jobIn(previousJobRecord) };
}

/** Versions of a machine share the records that did not change: each is read once, and stored as it was. */
const jobOfRecord = new WeakMap<JsonObject, Job>();
const recordOfJob = new WeakMap<Job, JsonObject>();

function jobIn(record: unknown): Job | undefined {
  if (!isJsonObject(record)) return undefined;
  const known = jobOfRecord.get(record);
  if (known !== undefined) return known;
  const job = decode("jobs", record, { available: true }, writable);
  jobOfRecord.set(record, job);
  recordOfJob.set(job, record);
  return job;
}

/** The spec of a job: one object for its record and for its own object. */
export function recordOf(job: Job): JsonObject {
  const known = recordOfJob.get(job);
  if (known !== undefined) return known;
  const record = specOf(job);
  recordOfJob.set(job, record);
  return record;
}

/** The fields that are stored. Frozen, so that the API takes it without a copy. */
function specOf(object: AnyObject, records?: Records): JsonObject {
  // Not by deletion: objects with deleted members are slow ever after.
  const spec: Record<string, JsonObject[string]> = {};
  const json = asJson(object);
  for (const name in json) if (!computed.has(name)) spec[name] = json[name];
  if (records?.current !== undefined) spec["currentJobRecord"] = recordOf(records.current);
  if (records?.previous !== undefined) spec["previousJobRecord"] = recordOf(records.previous);
  return deepFreeze(spec);
}

const isJob = (object: AnyObject): object is Job => "ExitState" in object;

/** A new object to be stored; `revision` is that of its bundle. */
export function encodeNew(
  collection: Collection,
  object: AnyObject,
  place: { readonly namespace: string; readonly bundle?: { readonly name: string; readonly revision: number } },
  now: Instant,
): KubeObject {
  const { namespace, bundle } = place;
  const type = kindOf[collection];
  const spec = isJob(object) ? recordOf(object) : specOf(object);
  const key = keyIn(collection, spec);
  const labels =
    collection === "jobs"
      ? { [machineLabel]: labelOf(textAt(spec, "Machine") ?? "") }
      : bundle === undefined
        ? undefined
        : { [bundleLabel]: labelOf(bundle.name), [revisionLabel]: String(bundle.revision) };
  const name = bundle === undefined ? nameOf(key) : nameInRevision(key, bundle.revision);
  return {
    apiVersion: apiVersionOf(type),
    kind: type.kind,
    metadata: { name, namespace, ...(labels === undefined ? {} : { labels }) },
    spec,
    status: statusOf(object, undefined, now),
  };
}

/** The next version of a stored object. */
export function encodeNext(object: AnyObject, old: Kept, now: Instant, records?: Records): Kept {
  return {
    ...old,
    spec: isJob(object) ? recordOf(object) : specOf(object, records),
    status: statusOf(object, old, now, records),
  };
}

/** When the present pass of a task list left its start. */
function begunAt({ CurrentTask }: Machine, old: Kept | undefined, now: Instant): string | undefined {
  if (CurrentTask < 0 || old === undefined) return undefined;
  const { spec, status } = old;
  return spec["CurrentTask"] === -1 ? new Date(now).toISOString() : status?.begun;
}

function statusOf(object: AnyObject, old: Kept | undefined, now: Instant, records: Records = noRecords): Status {
  const { Available: available, Errors: errors } = object;
  const { status } = old ?? {};
  let begun: string | undefined;
  let times: string | undefined;
  let conditions = status?.conditions ?? [];
  const set = (type: string, holds: boolean): void => {
    if (conditionOf(conditions, type)?.status === (holds ? "True" : "False")) return;
    conditions = withCondition(conditions, { type, status: holds ? "True" : "False", reason: type }, now);
  };
  set("Available", available);
  if ("Runnable" in object) {
    set("Runnable", object.Runnable);
    set("Complete", isTaskListDone(object));
    begun = begunAt(object, old, now);
    if (begun !== undefined && old !== undefined) {
      const before = begun === status?.begun ? status.times : undefined;
      times = withEnded(before, begun, records.current, recordsIn(old.spec).current);
    }
  }
  const writes = (status?.writes ?? 0) + 1;
  return deepFreeze({
    validated: true,
    available,
    errors,
    conditions,
    writes,
    ...(begun === undefined ? {} : { begun }),
    ...(times === undefined ? {} : { times }),
  });
}

/** Of a bundle's object; undefined for writable ones. */
export function revisionOf({ metadata }: Kept): number | undefined {
  const label = metadata.labels?.[revisionLabel];
  return label === undefined ? undefined : Number(label);
}

export const writesOf = (object: KubeObject): number | undefined =>
  isJsonObject(object.status) ? numberAt(object.status, "writes") : undefined;
