import {
  jsonEquals,
  type JsonObject,
  parseInstant,
  isTrueAt,
  listAt,
  numberAt,
  objectAt,
  objectsAt,
  textAt,
  valueAt,
} from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { countIndexes } from "#kernel/specs/index.ts";
import type { Rule } from "./built-in.ts";

// Rules for a Job's status (KEP-4368), which this server's controller or another one (`managedBy`) writes. A rule
// applies when one of its members changes.
//
//   SuccessCriteriaMet  ->  Complete  (with completionTime)        nothing active, nothing terminating,
//   FailureTarget       ->  Failed                                 nothing uncounted, a startTime

interface View {
  readonly status: JsonObject;
  readonly spec: JsonObject;
  has(type: string): boolean;
  readonly isFinished: boolean;
  count(name: string): number;
}

function viewOf(job: JsonObject | undefined): View {
  const status = objectAt(job, "status") ?? {};
  const has = (type: string) =>
    objectsAt(status, "conditions").some((one) => textAt(one, "type") === type && textAt(one, "status") === "True");
  const spec = objectAt(job, "spec") ?? {};
  const count = (name: string) => numberAt(status, name) ?? 0;
  return { status, spec, has, isFinished: has("Complete") || has("Failed"), count };
}

interface Claim {
  readonly field: string;
  /** Members of the status and condition types whose change triggers the check. */
  readonly on: readonly string[];
  readonly isBroken: (job: View) => boolean;
  readonly message: string;
}

const finished = ["Complete", "Failed"];
const isAnnounced = (job: View, end: string, announcement: string) => job.has(end) && !job.has(announcement);
const uncounted = ({ status }: View) =>
  listAt(status, "uncountedTerminatedPods", "succeeded").length +
  listAt(status, "uncountedTerminatedPods", "failed").length;
const timeOf = ({ status }: View, name: string) => parseInstant(textAt(status, name) ?? "");
const claim = (field: string, on: readonly string[], message: string, isBroken: Claim["isBroken"]): Claim => ({
  field: `status.${field}`,
  on,
  isBroken,
  message,
});

const claims: readonly Claim[] = [
  claim("conditions", finished, "cannot set Complete=True and Failed=true conditions", (job) =>
    finished.every((type) => job.has(type)),
  ),
  claim(
    "conditions",
    ["Complete", "FailureTarget"],
    "cannot set Complete=True and FailureTarget=true conditions",
    (job) => job.has("Complete") && job.has("FailureTarget"),
  ),
  claim(
    "conditions",
    ["Failed", "failedIndexes"],
    "cannot set Failed=True condition without the FailureTarget=true condition",
    (job) => isAnnounced(job, "Failed", "FailureTarget"),
  ),
  claim(
    "conditions",
    ["Complete", "SuccessCriteriaMet"],
    "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
    (job) => isAnnounced(job, "Complete", "SuccessCriteriaMet"),
  ),
  claim(
    "conditions",
    ["SuccessCriteriaMet", "Failed", "FailureTarget"],
    "cannot set SuccessCriteriaMet=True together with Failed=true or FailureTarget=true conditions",
    (job) => job.has("SuccessCriteriaMet") && (job.has("Failed") || job.has("FailureTarget")),
  ),
  claim(
    "completionTime",
    ["Complete", "completionTime"],
    "cannot set completionTime when there is no Complete=True condition",
    (job) => job.status["completionTime"] !== undefined && !job.has("Complete"),
  ),
  claim(
    "completionTime",
    ["Complete", "completionTime"],
    "completionTime is required for Complete jobs",
    (job) => job.status["completionTime"] === undefined && job.has("Complete"),
  ),
  claim(
    "completionTime",
    ["startTime", "completionTime"],
    "completionTime cannot be set before startTime",
    (job) => (timeOf(job, "completionTime") ?? Infinity) < (timeOf(job, "startTime") ?? 0),
  ),
  claim(
    "active",
    [...finished, "active"],
    "active>0 is invalid for finished job",
    (job) => job.isFinished && job.count("active") > 0,
  ),
  claim(
    "terminating",
    [...finished, "terminating"],
    "terminating>0 is invalid for finished job",
    (job) => job.isFinished && job.count("terminating") > 0,
  ),
  claim(
    "uncountedTerminatedPods",
    [...finished, "uncountedTerminatedPods"],
    "uncountedTerminatedPods needs to be empty for finished job",
    (job) => job.isFinished && uncounted(job) > 0,
  ),
  claim("startTime", [...finished, "startTime"], "startTime is required for finished job", (job) => {
    const hasNothingToDo = isTrueAt(job.spec, "suspend") && numberAt(job.spec, "completions") === 0;
    return job.isFinished && job.status["startTime"] === undefined && !hasNothingToDo;
  }),
  claim(
    "ready",
    ["ready", "active"],
    "cannot set more ready pods than active",
    (job) => job.count("ready") > job.count("active"),
  ),
  claim(
    "completedIndexes",
    ["completedIndexes"],
    "cannot set non-empty completedIndexes when non-indexed completion mode",
    ({ status, spec }) =>
      (textAt(status, "completedIndexes") ?? "") !== "" && textAt(spec, "completionMode") !== "Indexed",
  ),
  claim(
    "failedIndexes",
    ["failedIndexes"],
    "cannot set non-null failedIndexes when backoffLimitPerIndex is null",
    ({ status, spec }) => status["failedIndexes"] !== undefined && spec["backoffLimitPerIndex"] === undefined,
  ),
];

export const jobStatusRule: Rule = (job, { errors }, old) => {
  const [now, before] = [viewOf(job), viewOf(old)];
  const isChanged = (name: string) =>
    /^[A-Z]/.test(name) ? now.has(name) !== before.has(name) : !jsonEquals(now.status[name], before.status[name]);
  const refuse = (field: string, message: string) =>
    errors.push(fieldError.invalid(field, valueAt(job, ...field.split(".")) ?? null, message));
  for (const { field, on, isBroken, message } of claims)
    if (on.some(isChanged) && isBroken(now)) refuse(field, message);
  for (const name of ["active", "ready", "terminating", "succeeded", "failed"])
    if (now.count(name) < 0) refuse(`status.${name}`, "must be greater than or equal to 0");
  for (const name of ["completedIndexes", "failedIndexes"]) {
    const indexes = countIndexes(textAt(now.status, name) ?? "", numberAt(now.spec, "completions") ?? Infinity);
    if (isChanged(name) && !indexes.ok) refuse(`status.${name}`, indexes.error);
  }
  checkProgress(now, before, refuse);
};

/** Final conditions stay, counters only grow, and times are fixed once written. */
function checkProgress(now: View, before: View, refuse: (field: string, message: string) => void): void {
  for (const type of ["Complete", "Failed", "FailureTarget", "SuccessCriteriaMet"])
    if (before.has(type) && !now.has(type))
      refuse("status.conditions", `cannot disable the terminal ${type}=True condition`);
  if (now.count("failed") < before.count("failed")) refuse("status.failed", "cannot decrease the failed counter");
  // Elastic indexed Jobs may shrink.
  const mayShrink =
    textAt(now.spec, "completionMode") === "Indexed" && now.spec["completions"] === now.spec["parallelism"];
  if (!mayShrink && now.count("succeeded") < before.count("succeeded"))
    refuse("status.succeeded", "cannot decrease the succeeded counter");
  const { completionTime, startTime } = before.status;
  if (before.has("Complete") && completionTime !== undefined && now.status["completionTime"] !== completionTime)
    refuse("status.completionTime", "completionTime cannot be mutated");
  if (startTime !== undefined && now.status["startTime"] !== startTime && !isTrueAt(now.spec, "suspend"))
    refuse("status.startTime", "startTime cannot be removed or modified for unsuspended job");
}
